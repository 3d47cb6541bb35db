import Hummingbird
import TransferModel
import TransferWire

/// The address of a session in a request: its path, the query's `client` and the key's tenant.
struct SessionAddress: Sendable {
    let tenant: TenantID
    let client: ClientID
    let identifier: String

    /// The path of the session.
    var path: String { APIPath.session(identifier, of: client.nameInLinks) }
}
