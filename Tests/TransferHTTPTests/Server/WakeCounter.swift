import Synchronization
import TransferModel

@testable import TransferHTTP

/// A counter of how often the API told its worker that there is something to do.
final class WakeCounter: Sendable {
    private let state = Mutex((count: 0, owner: ConnectionTurn.Owner?.none, signals: Set<Signal>()))

    var value: Int { state.withLock { $0.count } }

    /// In whose turn the request was that told it last.
    var latestOwner: ConnectionTurn.Owner? { state.withLock { $0.owner } }

    /// What it told last.
    var latest: Set<Signal> { state.withLock { $0.signals } }

    func count(_ signals: Set<Signal> = []) {
        state.withLock { state in
            state.count += 1
            state.signals = signals
            state.owner = ConnectionTurn.current?.owner
        }
    }
}
