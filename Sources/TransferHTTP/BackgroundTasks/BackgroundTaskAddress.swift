import Hummingbird
import TransferModel
import TransferWire

/// The address of a background task in a request: its path, the query's `client` and the key's
/// tenant.
struct BackgroundTaskAddress: Sendable {
    let tenant: TenantID
    let client: ClientID
    let identifier: BackgroundTaskIdentifier
}

extension APIContext {
    /// Returns the background task that the request names.
    func backgroundTask(_ request: Request) throws(Problem) -> BackgroundTaskAddress {
        let query = try QueryParameters(request, allowed: [QueryParameters.client])
        let identifier = parameters.get("identifier").flatMap { BackgroundTaskIdentifier($0) }
        guard let identifier else {
            throw QueryParameters.invalid(
                "identifier",
                BackgroundTaskIdentifier.rule,
                code: .invalidIdentifier
            )
        }
        return BackgroundTaskAddress(
            tenant: try requireTenant(),
            client: try query.client() ?? .default,
            identifier: identifier
        )
    }
}
