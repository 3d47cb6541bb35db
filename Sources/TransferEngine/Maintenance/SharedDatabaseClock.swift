import Synchronization

/// The clock that the engine reads and its health report shows.
final class SharedDatabaseClock: Sendable {
    let clock: Mutex<DatabaseClock>

    init(patience: Duration) { clock = Mutex(DatabaseClock(patience: patience)) }
}
