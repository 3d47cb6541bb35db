import TransferWire
import Foundation
import Hummingbird
import TransferModel

extension QueryParameters {
    /// Whose session is meant.
    static let client = "client"

    /// The client that the query names, if it does.
    func client() throws(Problem) -> ClientID? {
        guard let name = self[Self.client] else { return nil }
        guard let client = ClientID(name) else {
            throw Self.invalid(Self.client, ClientRule.name, code: .invalidIdentifier)
        }
        return client
    }
}

extension APIContext {
    /// The session that the request names, where its query has nothing else to say.
    func session(_ request: Request) throws(Problem) -> SessionAddress {
        try session(QueryParameters(request, allowed: [QueryParameters.client]))
    }

    /// The session that the request names.
    func session(_ query: QueryParameters) throws(Problem) -> SessionAddress {
        SessionAddress(
            tenant: try requireTenant(),
            client: try query.client() ?? .default,
            identifier: try sessionIdentifier()
        )
    }

    /// The client that the path names.
    func clientID() throws(Problem) -> ClientID {
        guard let id = parameters.get("client").flatMap({ ClientID($0) }) else {
            throw QueryParameters.invalid("client", ClientRule.name, code: .invalidIdentifier)
        }
        return id
    }

    /// The session's identifier in the path.
    ///
    /// The server hands the segment over as it was sent; decoded here, `%2F` is a slash within
    /// the identifier and not a step of the path.
    private func sessionIdentifier() throws(Problem) -> String {
        guard let raw = parameters.get("identifier"),
            let identifier = PercentDecoding.text(Array(raw.utf8)),
            SessionIdentifier.isValid(identifier)
        else {
            throw QueryParameters.invalid(
                "identifier",
                SessionIdentifier.rule,
                code: .invalidIdentifier
            )
        }
        return identifier
    }

    /// The task that the path names; what is no identifier names no task.
    func taskID() throws(Problem) -> TaskID {
        guard let uuid = uuid() else { throw Problem(.unknownTask) }
        return TaskID(uuid)
    }

    /// The lease that the path names.
    func leaseToken() throws(Problem) -> LeaseToken {
        guard let uuid = uuid() else { throw Problem(.unknownLease) }
        return LeaseToken(uuid)
    }

    /// The subscription that the path names.
    func subscriptionID() throws(Problem) -> SubscriptionID {
        guard let uuid = uuid() else { throw Problem(.unknownSubscription) }
        return SubscriptionID(uuid)
    }

    /// The credential that the path names.
    func credentialName() throws(Problem) -> String {
        guard let name = parameters.get("name"), Credential.isName(name) else {
            throw QueryParameters.invalid("name", CredentialRules.name, code: .invalidIdentifier)
        }
        return name
    }

    /// The logged delivery that the path names.
    func deliveryID() throws(Problem) -> DeliveryID {
        guard let uuid = uuid() else { throw Problem(.unknownDelivery) }
        return DeliveryID(uuid)
    }

    private func uuid() -> UUID? {
        guard let text = parameters.get("id"), text.utf8.count == 36 else { return nil }
        return UUID(uuidString: text)
    }
}
