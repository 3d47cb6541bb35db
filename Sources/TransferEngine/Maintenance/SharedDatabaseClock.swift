import Foundation
import Synchronization

/// The database's clock, as the engine reads it for all who go by it.
final class SharedDatabaseClock: Sendable {
    private let clock: Mutex<DatabaseClock>

    /// The latest date that it can show; nil before it was read.
    var latest: Date? { clock.withLock { $0.latest(at: .now) } }

    /// The number of seconds by which it was set ahead, as long as it is not followed.
    var ahead: TimeInterval? { clock.withLock(\.ahead) }

    init(patience: Duration) { clock = Mutex(DatabaseClock(patience: patience)) }

    /// Records the date that it showed, when it was asked at `asked`.
    ///
    /// - Returns: the number of seconds by which it was set, when that is first seen.
    func note(_ date: Date, asked: ContinuousClock.Instant) -> TimeInterval? {
        clock.withLock { $0.note(date, asked: asked, answered: .now) }
    }
}
