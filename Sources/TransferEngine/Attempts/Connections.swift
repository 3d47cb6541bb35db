import Curl
import Synchronization

/// The requests that an attempt is making, one on each of its connections; they can be stopped from
/// any thread.
final class Connections: Sendable {
    private struct State {
        var transfers: [Int: CurlTransfer] = [:]
        var isAbandoned = false
        /// The number of requests that each connection has been given.
        var requests: [Int: Int] = [:]
        /// The connections that were told to proceed before their requests were known here.
        var proceeding: Set<Int> = []
        /// The rates that these requests and later ones keep to, all together.
        var rates: [SharedRate] = []
    }

    private let state = Mutex(State())
    private let mayBegin: @Sendable () -> Bool

    /// Creates connections on which no request is made once `mayBegin` returns false; requests
    /// under way continue.
    init(mayBegin: @escaping @Sendable () -> Bool = { true }) { self.mayBegin = mayBegin }

    /// Whether a request may be made now.
    var isOpen: Bool { mayBegin() && !isAbandoned }

    /// Whether the attempt may make no further request.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// Whether a request ended with this result because no request may be made any more.
    func isRefusal(_ result: Result<CurlSummary, CurlError>) -> Bool {
        guard case .failure(let error) = result, error.code == .cancelled else { return false }
        return !isOpen
    }

    /// Sends the next request of a connection, unless no request may be made any more: then it ends
    /// as if cancelled.
    func start(
        _ request: CurlRequest,
        as connection: Int = 0,
        on loop: CurlLoop,
        sink: any CurlSink
    ) {
        var request = request
        request.mayBegin = mayBegin
        let (rates, number) = state.withLock { state in
            state.transfers[connection] = nil
            let number = state.requests[connection, default: 0] + 1
            state.requests[connection] = number
            return (state.rates, number)
        }
        request.sharedRates = rates
        guard isOpen else { return loop.refuse(sink) }
        let transfer = loop.start(request, sink: sink)
        let (isAbandoned, newRates, proceeds) = state.withLock { state in
            // On the loop's thread, this request may have ended meanwhile, and led to the next one.
            guard state.requests[connection] == number else {
                return (state.isAbandoned, request.sharedRates, false)
            }
            state.transfers[connection] = transfer
            return (
                state.isAbandoned, state.rates, state.proceeding.remove(connection) != nil
            )
        }
        if proceeds { transfer.proceed() }
        if isAbandoned { transfer.cancel() }
        // Other rates may have come while it was started.
        if !newRates.elementsEqual(request.sharedRates, by: ===) { transfer.share(newRates) }
    }

    /// Holds the attempt to `rates` from now on, in place of the former ones, and checks its pauses
    /// again.
    func share(_ rates: [SharedRate]) {
        let transfers = state.withLock { state in
            state.rates = rates
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.share(rates) }
    }

    /// Asks the sink and the source of a connection again that have answered `later`.
    func proceed(_ connection: Int) {
        let transfer = state.withLock { state in
            if state.transfers[connection] == nil { state.proceeding.insert(connection) }
            return state.transfers[connection]
        }
        transfer?.proceed()
    }

    /// Stops the requests under way, and those that would follow.
    func abandon() {
        state.withLock { $0.isAbandoned = true }
        cancelAll()
    }

    /// Stops the requests under way.
    func cancelAll() {
        for transfer in state.withLock({ Array($0.transfers.values) }) { transfer.cancel() }
    }

    /// Stops the request of one connection.
    func cancel(_ connection: Int) { state.withLock { $0.transfers[connection] }?.cancel() }

    /// Records that a connection makes no further request.
    func forget(_ connection: Int) { state.withLock { $0.transfers[connection] = nil } }
}
