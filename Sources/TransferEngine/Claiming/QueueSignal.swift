import Synchronization

/// The signal that wakes the claiming loop.
final class QueueSignal: Sendable {
    private let signal = WakeSignal()
    private let isAdded = Atomic(true)
    private let isPolled = Atomic(false)

    /// Signals that a slot has become free.
    func freed() { signal.signal() }

    /// Signals that there may be tasks of flows that had none.
    func added() {
        isAdded.store(true, ordering: .releasing)
        signal.signal()
    }

    /// Signals that it is time to look, even without a notification.
    func polled() {
        isPolled.store(true, ordering: .releasing)
        signal.signal()
    }

    /// Returns after a signal, or when the task is cancelled.
    func wait() async { await signal.wait() }

    /// Whether ``takeAdded()`` has something to take.
    var hasAdded: Bool { isAdded.load(ordering: .acquiring) }

    /// Whether tasks were added since the last call.
    func takeAdded() -> Bool { isAdded.exchange(false, ordering: .acquiringAndReleasing) }

    /// Whether it became time to look since the last call.
    func takePolled() -> Bool { isPolled.exchange(false, ordering: .acquiringAndReleasing) }
}
