import ServiceLifecycle

/// The bounds of every ``ChangeWatch``.
enum ChangeWatchBounds {
    static let pauseMin: Duration = .milliseconds(10)

    /// The time between two looks, different each time so that instances do not look in step.
    static func pause() -> Duration { .milliseconds(Int.random(in: 70...110)) }
}
