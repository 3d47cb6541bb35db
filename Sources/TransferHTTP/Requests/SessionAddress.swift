import Hummingbird
import TransferModel
import TransferWire

/// A session as a request names it: by its path, the query's `client` and the key's tenant.
struct SessionAddress: Sendable {
    let tenant: TenantID
    let client: ClientID
    let identifier: String

    /// The path of the session.
    var path: String { APIPath.session(identifier, of: client.nameInLinks) }
}
