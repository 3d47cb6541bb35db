import Curl
import Synchronization

/// The requests that an attempt is making on one loop, one on each of its connections; they can be
/// stopped from any thread.
final class Connections: Sendable {
    private struct State {
        /// Nil before the attempt begins.
        var loop: CurlLoop?
        var transfers: [Int: CurlTransfer] = [:]
        var isAbandoned = false
        /// Whether a request was refused because none may begin.
        var isClosed = false
        /// The number of requests that each connection has been given.
        var requests: [Int: Int] = [:]
        /// The connections that were told to proceed before their requests were known here.
        var proceeding: Set<Int> = []
        /// The rates that these requests and later ones keep to, all together.
        var rates: [SharedRate] = []
    }

    private let state = Mutex(State())
    private let mayBegin: @Sendable () -> Bool

    /// Creates connections on which no request is made once `mayBegin` has returned false.
    ///
    /// What it returns later changes nothing: an attempt that was refused a request is given back.
    /// Requests under way continue.
    init(mayBegin: @escaping @Sendable () -> Bool = { true }) { self.mayBegin = mayBegin }

    /// Gives the requests, of which none was made yet, their loop.
    func begin(on loop: CurlLoop) { state.withLock { $0.loop = loop } }

    /// Runs `work` on the thread of the requests; not at all before the attempt begins.
    func perform(_ work: @escaping @Sendable () -> Void) {
        state.withLock(\.loop)?.perform(work)
    }

    /// Whether a request may be made now; if not, none may later.
    var isOpen: Bool {
        let mayBegin = mayBegin()
        return state.withLock { state in
            if !mayBegin { state.isClosed = true }
            return !state.isClosed && !state.isAbandoned
        }
    }

    /// Whether the attempt may make no further request.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// Whether a request ended with this result because no request may be made any more.
    func isRefusal(_ result: Result<CurlSummary, CurlError>) -> Bool {
        guard case .failure(let error) = result, error.code == .cancelled else { return false }
        return !isOpen
    }

    /// Ends a request that is not to be made as if it had been cancelled.
    func refuse(_ sink: any CurlSink) {
        guard let loop = state.withLock(\.loop) else {
            return sink.finish(.failure(CurlError(.cancelled)))
        }
        loop.refuse(sink)
    }

    /// Sends the next request of a connection, unless no request may be made any more: then it ends
    /// as if cancelled.
    func start(_ request: CurlRequest, as connection: Int = 0, sink: any CurlSink) {
        var request = request
        request.mayBegin = { [self] in isOpen }
        let (loop, rates, number) = state.withLock { state in
            state.transfers[connection] = nil
            let number = state.requests[connection, default: 0] + 1
            state.requests[connection] = number
            return (state.loop, state.rates, number)
        }
        request.sharedRates = rates
        guard isOpen, let loop else { return refuse(sink) }
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
