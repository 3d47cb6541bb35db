import Synchronization

/// Wakes the loop that claims.
final class QueueSignal: Sendable {
    private let signal = WakeSignal()
    private let isNews = Atomic(true)
    private let isTime = Atomic(false)

    /// A slot has become free.
    func freed() { signal.signal() }

    /// There may be tasks of flows that had none.
    func added() {
        isNews.store(true, ordering: .releasing)
        signal.signal()
    }

    /// It is time to look, whether anybody has said so or not.
    func polled() {
        isTime.store(true, ordering: .releasing)
        signal.signal()
    }

    /// Returns after a signal, or when the task is cancelled.
    func wait() async { await signal.wait() }

    /// Whether tasks were added since this was asked last.
    func takeAdded() -> Bool { isNews.exchange(false, ordering: .acquiringAndReleasing) }

    /// Whether it was time to look since this was asked last.
    func takePolled() -> Bool { isTime.exchange(false, ordering: .acquiringAndReleasing) }
}
