import Curl
import Synchronization

/// The request that an attempt is just making, so that it can be stopped from any thread.
final class CurrentTransfer: Sendable {
    private struct State {
        var transfer: CurlTransfer?
        var isAbandoned = false
        /// What this request and those that follow keep to.
        var rates: [SharedRate] = []
    }

    private let state = Mutex(State())

    /// Whether the attempt is to make no further request.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// Sends the next request of the attempt.
    func start(_ request: CurlRequest, on loop: CurlLoop, sink: any CurlSink) {
        var request = request
        request.sharedRates = state.withLock { $0.rates }
        let transfer = loop.start(request, sink: sink)
        let (isAbandoned, rates) = state.withLock { state in
            state.transfer = transfer
            return (state.isAbandoned, state.rates)
        }
        if isAbandoned { transfer.cancel() }
        // Others may have come while it was started.
        if !rates.elementsEqual(request.sharedRates, by: ===) { transfer.share(rates) }
    }

    /// Holds the attempt to `rates` from now on, in place of those before, and looks at its pauses
    /// anew.
    func share(_ rates: [SharedRate]) {
        let transfer = state.withLock { state in
            state.rates = rates
            return state.transfer
        }
        transfer?.share(rates)
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
