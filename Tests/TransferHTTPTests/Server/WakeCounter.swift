import Synchronization

@testable import TransferHTTP

/// A counter of how often the API told its worker that there is something to do.
final class WakeCounter: Sendable {
    private let state = Mutex((count: 0, owner: ConnectionTurn.Owner?.none))

    var value: Int { state.withLock { $0.count } }

    /// In whose turn the request was that told it last.
    var latestOwner: ConnectionTurn.Owner? { state.withLock { $0.owner } }

    func count() {
        state.withLock { state in
            state.count += 1
            state.owner = ConnectionTurn.current?.owner
        }
    }
}
