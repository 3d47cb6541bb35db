import Curl
import Synchronization

/// The request that an attempt is just making, so that it can be stopped from any thread.
final class CurrentTransfer: Sendable {
    private let state = Mutex<(transfer: CurlTransfer?, isAbandoned: Bool)>((nil, false))

    /// Whether the attempt is to make no further request.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// Sends the next request of the attempt.
    func start(_ request: CurlRequest, on loop: CurlLoop, sink: any CurlSink) {
        let transfer = loop.start(request, sink: sink)
        let isAbandoned = state.withLock { state in
            state.transfer = transfer
            return state.isAbandoned
        }
        if isAbandoned { transfer.cancel() }
    }

    /// Stops the request that is being made, and those that would follow.
    func abandon() {
        let transfer = state.withLock { state in
            state.isAbandoned = true
            return state.transfer
        }
        transfer?.cancel()
    }
}
