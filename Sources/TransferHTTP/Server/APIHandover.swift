import Synchronization

/// Where a server that answers probes from its first moment on finds the API once that has
/// started: the port stays the same, and no connection is refused in between.
package final class APIHandover: Sendable {
    private let api = Mutex<APIResponder?>(nil)

    /// Nobody answers in the server's place yet.
    package init() {}

    /// From now on `api` answers, also on connections that are open.
    package func open(_ api: TransferAPI) {
        let responder = api.responder()
        self.api.withLock { $0 = responder }
    }

    var successor: APIResponder? { api.withLock { $0 } }

    /// What clients are told until then.
    var refusal: Problem { .starting }
}
