import Synchronization

/// Finds out that of a body that is sent nothing more is taken.
final class SendingWatch: Sendable {
    /// The longest time between two parts.
    private let stallMax: Duration
    /// When the newest part was asked for; nil once there are no more.
    private let lastTaken = Mutex<ContinuousClock.Instant?>(.now)

    init(stallMax: Duration) { self.stallMax = stallMax }

    /// Notes that a part is asked for.
    func partTaken() { lastTaken.withLock { $0 = .now } }

    /// Notes that nothing follows: from now on the silence before the response is measured.
    func ended() { lastTaken.withLock { $0 = nil } }

    /// Returns true once no part was asked for in the longest time, and false behind the last.
    ///
    /// - Throws: `CancellationError` when nobody waits for it any more.
    func isStalled() async throws -> Bool {
        while let last = lastTaken.withLock({ $0 }) {
            let end = last + stallMax
            guard end > .now else { return true }
            try await Task.sleep(until: end, clock: .continuous)
        }
        return false
    }
}
