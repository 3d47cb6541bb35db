import Synchronization

/// The requests and actions of an origin so far; tests wait for it instead of sleeping.
package final class OriginLog: Sendable {
    /// The counts at one moment.
    package struct Snapshot: Sendable {
        /// All requests in order of arrival.
        package private(set) var requests: [OriginRequest] = []
        /// Connections accepted so far.
        package internal(set) var connectionsAccepted = 0
        /// Connections that are open now.
        package internal(set) var connectionsOpen = 0
        /// Requests that are being answered now.
        package internal(set) var requestsOpen = 0
        /// The most requests that were ever answered at once.
        package internal(set) var requestsOpenPeak = 0
        /// Body bytes handed to the kernel, by path.
        package internal(set) var bytesSent: [String: Int] = [:]
        private var requestCounts: [String: Int] = [:]

        /// Returns the requests for one path.
        package func requests(at path: String) -> [OriginRequest] {
            requests.filter { $0.path == path }
        }

        /// Records a request.
        ///
        /// - Returns: the number of the request among those for its path, from 1.
        mutating func add(_ request: OriginRequest) -> Int {
            let count = requestCounts[request.path, default: 0] + 1
            requestCounts[request.path] = count
            var request = request
            request.numberAtPath = count
            requests.append(request)
            return count
        }
    }

    private struct Waiter {
        let isMet: @Sendable (Snapshot) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var snapshot = Snapshot()
        var waiters: [Int: Waiter] = [:]
        var waiterCount = 0
        var requestCount = 0
    }

    private let state = Mutex(State())

    /// The counts now.
    package var now: Snapshot { state.withLock { $0.snapshot } }

    /// Returns once the counts meet `condition`, or the task is cancelled.
    package func wait(until condition: @escaping @Sendable (Snapshot) -> Bool) async {
        let number = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if Task.isCancelled || condition(state.snapshot) { return true }
                    state.waiters[number] = Waiter(isMet: condition, continuation: continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    /// Returns once `count` requests have arrived, at one path or anywhere.
    package func arrived(_ count: Int, at path: String? = nil) async {
        await wait { snapshot in
            (path.map { snapshot.requests(at: $0) } ?? snapshot.requests).count >= count
        }
    }

    /// Returns once `count` bytes of bodies have been handed to the kernel at a path.
    package func sent(_ count: Int, at path: String) async {
        await wait { $0.bytesSent[path, default: 0] >= count }
    }

    func nextRequestNumber() -> Int {
        state.withLock { state in
            state.requestCount += 1
            return state.requestCount
        }
    }

    @discardableResult
    func change<Value>(_ body: (inout Snapshot) -> Value) -> Value {
        let (value, met) = state.withLock { state in
            let value = body(&state.snapshot)
            let met = state.waiters.filter { $0.value.isMet(state.snapshot) }
            for number in met.keys { state.waiters[number] = nil }
            return (value, met.values.map(\.continuation))
        }
        for continuation in met { continuation.resume() }
        return value
    }
}
