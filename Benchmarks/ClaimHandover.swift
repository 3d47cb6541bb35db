import Synchronization
import TransferEngine
import TransferModel

/// The claims on their way from the loop that makes them to the one that ends their tasks.
final class ClaimHandover: Sendable {
    /// The number of tasks that are claimed and not ended with which the engine claims no more.
    private static let openMax = 4096

    private struct State {
        var claims: [[TaskClaim]] = []
        /// The number of tasks that are claimed and not ended.
        var open = 0
        var isClosed = false

        mutating func take(_ limit: Int) -> [[TaskClaim]] {
            let taken = Array(claims.prefix(limit))
            claims.removeFirst(taken.count)
            return taken
        }
    }

    private let state = Mutex(State())
    private let arrival = WakeSignal()
    private let room = WakeSignal()

    /// Waits until another claim is allowed.
    func waitForRoom() async throws {
        while state.withLock({ $0.open >= Self.openMax }) {
            await room.wait()
            try Task.checkCancellation()
        }
    }

    func add(_ claim: [TaskClaim]) {
        state.withLock { state in
            state.claims.append(claim)
            state.open += claim.count
        }
        arrival.signal()
    }

    /// Records that there will be no more claims.
    func close() {
        state.withLock { $0.isClosed = true }
        arrival.signal()
    }

    /// Waits for claims and takes up to `limit` of them; none when there will be no more.
    func next(limit: Int) async -> [[TaskClaim]] {
        while true {
            let (claims, isClosed) = state.withLock { ($0.take(limit), $0.isClosed) }
            guard claims.isEmpty, !isClosed else { return claims }
            await arrival.wait()
        }
    }

    /// Takes up to `limit` claims of those that are there.
    func takeNext(limit: Int) -> [[TaskClaim]] { state.withLock { $0.take(limit) } }

    /// Records that tasks have ended.
    func ended(_ count: Int) {
        state.withLock { $0.open -= count }
        room.signal()
    }
}
