import Synchronization

/// The means by which a server that answers probes from its start finds the API once that has
/// started.
///
/// The port stays the same, and no connection is refused in between.
package final class APIHandover: Sendable {
    private let api = Mutex<APIResponder?>(nil)

    /// Creates a handover that does not lead to the API yet.
    package init() {}

    /// Lets `api` answer from now on, also on connections that are open.
    package func open(_ api: TransferAPI) {
        let responder = api.responder()
        self.api.withLock { $0 = responder }
    }

    var successor: APIResponder? { api.withLock { $0 } }

    /// The problem that clients are told until the API has started.
    var refusal: Problem { .starting }
}
