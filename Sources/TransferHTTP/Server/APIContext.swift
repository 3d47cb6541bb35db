package import Hummingbird
import NIOCore
import TransferModel
import TransferWire

/// What a handler knows of a request besides the request.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Whose key the request carries; nil on the few paths that need none.
    var tenant: TenantID?
    /// The `X-Request-Id` of the answer.
    var requestID = ""
    /// The connection that the request came on.
    let channel: any Channel

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The tenant whose resources the request is about.
    func requireTenant() throws(Problem) -> TenantID {
        guard let tenant else { throw Problem(.unauthorized) }
        return tenant
    }
}
