import Synchronization

/// The clock that the engine reads, and that its health tells of.
final class SharedDatabaseClock: Sendable {
    let clock: Mutex<DatabaseClock>

    init(patience: Duration) { clock = Mutex(DatabaseClock(patience: patience)) }
}
