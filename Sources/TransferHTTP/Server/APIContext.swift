package import Hummingbird
import NIOCore
import TransferModel
import TransferWire

/// The context of a request: what a handler knows besides the request itself.
package struct APIContext: RequestContext {
    /// The storage that Hummingbird needs in every context.
    package var coreContext: CoreRequestContextStorage
    /// The holder of the key that the request carries; nil on the few paths that need none.
    var caller: Caller?
    /// The `X-Request-Id` of the answer.
    var requestID = ""
    /// The connection on which the request came.
    let channel: any Channel

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Returns the tenant whose resources the request is about.
    func requireTenant() throws(Problem) -> TenantID {
        try requireCaller().tenant
    }

    /// Returns the holder of the key that the request carries.
    func requireCaller() throws(Problem) -> Caller {
        guard let caller else { throw Problem(.unauthorized) }
        return caller
    }
}
