import Foundation
import Hummingbird
import TransferModel
import TransferWire

/// The rule for names of sessions, which is the same in paths, bodies and cursors.
enum SessionIdentifier {
    /// In bytes: PostgreSQL's `text` takes anything in UTF-8 but NUL.
    static func isValid(_ identifier: String) -> Bool {
        (1...Session.identifierBytesMax).contains(identifier.utf8.count)
            && !identifier.utf8.contains(0)
    }

    static let rule = "Must have 1 to \(Session.identifierBytesMax) bytes of UTF-8 and no NUL."
}

extension APIContext {
    /// The session that the path names.
    ///
    /// The server hands the segment over as it was sent; decoded here, `%2F` is a slash within
    /// the identifier and not a step of the path.
    func sessionIdentifier() throws(Problem) -> String {
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
