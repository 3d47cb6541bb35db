import Synchronization

/// Notices that the process has stood still, as one that was stopped or whose machine was suspended.
///
/// It is looked often, whatever the database does; so the time between two looks is lost time.
final class StandstillWatch: Sendable {
    private let limit: Duration
    private let lookedAt: Mutex<ContinuousClock.Instant>

    /// A look at least every `limit` says that nothing was lost.
    init(limit: Duration, at now: ContinuousClock.Instant = .now) {
        self.limit = limit
        lookedAt = Mutex(now)
    }

    /// How long it has stood still since the last look; nil when it has not.
    func look(at now: ContinuousClock.Instant = .now) -> Duration? {
        lookedAt.withLock { lookedAt in
            let gap = now - lookedAt
            lookedAt = max(lookedAt, now)
            return gap >= limit ? gap : nil
        }
    }
}
