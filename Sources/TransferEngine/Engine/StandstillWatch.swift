import Synchronization

/// A watch that notices when the process has stood still, as when it was stopped or its machine was
/// suspended.
///
/// It looks often, whatever the database does, so the time between two looks is lost time.
final class StandstillWatch: Sendable {
    private let limit: Duration
    private let lookedAt: Mutex<ContinuousClock.Instant>

    /// Creates a watch for which looks less than `limit` apart mean that no time was lost.
    init(limit: Duration, at now: ContinuousClock.Instant = .now) {
        self.limit = limit
        lookedAt = Mutex(now)
    }

    /// Returns how long the process has stood still since the last look; nil when it has not.
    func look(at now: ContinuousClock.Instant = .now) -> Duration? {
        lookedAt.withLock { lookedAt in
            let gap = now - lookedAt
            lookedAt = max(lookedAt, now)
            return gap >= limit ? gap : nil
        }
    }
}
