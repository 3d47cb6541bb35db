import ServiceLifecycle

/// The bounds of every ``SharedPoll``.
enum ChangeWatchBounds {
    static let pauseMin: Duration = .milliseconds(10)

    /// Returns the time between two looks, random so that instances do not look in step.
    static func pause() -> Duration { .milliseconds(Int.random(in: 70...110)) }
}
