import Logging
import Synchronization
import TransferStore

/// The claims that have failed one after the other, of which the log and those who watch the
/// instance hear once they are no accident: meanwhile no task begins here.
final class ClaimFailures: Sendable {
    /// The number of failures from which on they are none, as a lock that was waited for too long.
    static let countMax = 3

    private struct State {
        var count = 0
        /// The failure that was logged last; nil when none was.
        var logged: String?
    }

    private let state = Mutex(State())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Whether claims fail, and not only now and then.
    var isPersistent: Bool { state.withLock { $0.logged != nil } }

    /// Records a failure.
    ///
    /// A database that is away is told of by those who ask whether it is there.
    func failed(_ error: StoreError) {
        guard !error.isUnavailable || error.isContended else { return }
        // The server's own words have numbers that differ each time.
        let text = error.description
        let isNews = state.withLock { state in
            state.count += 1
            guard state.count >= Self.countMax, text != state.logged else { return false }
            state.logged = text
            return true
        }
        guard isNews else { return }
        logger.error(
            "claims fail, so that no task begins here",
            metadata: ["error": "\(error.debugDescription)"]
        )
    }

    /// Records that a claim did not fail, or that there is nothing to claim.
    func ended() {
        let wasLogged = state.withLock { state in
            defer { state = State() }
            return state.logged != nil
        }
        if wasLogged { logger.notice("claims no longer fail") }
    }
}
