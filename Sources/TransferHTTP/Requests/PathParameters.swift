import TransferWire
import Foundation
import Hummingbird
import TransferModel

extension APIContext {
    /// Returns the session that the request names, when its query can have no other parameters.
    func session(_ request: Request) throws(Problem) -> SessionAddress {
        try session(QueryParameters(request, allowed: [QueryParameters.client]))
    }

    /// Returns the session that the request names.
    func session(_ query: QueryParameters) throws(Problem) -> SessionAddress {
        SessionAddress(
            tenant: try requireTenant(),
            client: try query.client() ?? .default,
            identifier: try sessionIdentifier()
        )
    }

    /// Returns the client that the path names.
    func clientID() throws(Problem) -> ClientID {
        guard let id = parameters.get("client").flatMap({ ClientID($0) }) else {
            throw QueryParameters.invalid("client", ClientRule.name, code: .invalidIdentifier)
        }
        return id
    }

    /// Returns the session's identifier in the path.
    ///
    /// The server passes the segment as it was sent; because it is decoded here, `%2F` is a slash
    /// within the identifier and does not separate segments.
    private func sessionIdentifier() throws(Problem) -> String {
        let identifier = parameters.get("identifier").flatMap { PercentDecoding.text($0[...]) }
        guard let identifier, SessionIdentifier.isValid(identifier) else {
            throw QueryParameters.invalid(
                "identifier",
                identifier == nil ? "Must be in percent-encoded UTF-8." : SessionIdentifier.rule,
                code: .invalidIdentifier
            )
        }
        return identifier
    }

    /// Returns the task that the path names; a text that is no identifier names no task.
    func taskID() throws(Problem) -> TaskID {
        guard let uuid = uuid() else { throw Problem(.unknownTask) }
        return TaskID(uuid)
    }

    /// Returns the assertion that the path names.
    func assertionID() throws(Problem) -> AssertionID {
        guard let uuid = uuid() else { throw Problem(.unknownAssertion) }
        return AssertionID(uuid)
    }

    /// Returns the lease that the path names.
    func leaseToken() throws(Problem) -> LeaseToken {
        guard let uuid = uuid() else { throw Problem(.unknownLease) }
        return LeaseToken(uuid)
    }

    /// Returns the subscription that the path names.
    func subscriptionID() throws(Problem) -> SubscriptionID {
        guard let uuid = uuid() else { throw Problem(.unknownSubscription) }
        return SubscriptionID(uuid)
    }

    /// Returns the credential that the path names.
    func credentialName() throws(Problem) -> String {
        guard let name = parameters.get("name"), Credential.isName(name) else {
            throw QueryParameters.invalid("name", Credential.nameRule, code: .invalidIdentifier)
        }
        return name
    }

    /// Returns the logged delivery that the path names.
    func deliveryID() throws(Problem) -> DeliveryID {
        guard let uuid = uuid() else { throw Problem(.unknownDelivery) }
        return DeliveryID(uuid)
    }

    /// Returns the bulk operation that the path names.
    func bulkOperationID() throws(Problem) -> BulkOperationID {
        guard let uuid = uuid() else { throw Problem(.unknownBulkOperation) }
        return BulkOperationID(uuid)
    }

    private func uuid() -> UUID? {
        guard let text = parameters.get("id"), text.utf8.count == 36 else { return nil }
        return UUID(uuidString: text)
    }
}
