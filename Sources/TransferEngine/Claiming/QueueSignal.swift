import Synchronization
import TransferModel

/// The signal that wakes the claiming loop.
final class QueueSignal: Sendable {
    private let signal = WakeSignal()
    private let isAdded = Atomic(true)
    private let isPolled = Atomic(false)
    private let hosts = Mutex<Set<HostKey>>([])

    /// Signals that a slot has become free.
    func freed() { signal.signal() }

    /// Signals that there may be tasks of flows that had none, and at which hosts, as far as known;
    /// at most ``Signal/hostsMax`` are remembered.
    func added(at hosts: Set<HostKey> = []) {
        if !hosts.isEmpty {
            self.hosts.withLock { known in
                for host in hosts where known.count < Signal.hostsMax { known.insert(host) }
            }
        }
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

    /// Returns the hosts that were named since the last call.
    func takeHosts() -> Set<HostKey> {
        hosts.withLock { hosts in
            defer { hosts = [] }
            return hosts
        }
    }

    /// Whether it became time to look since the last call.
    func takePolled() -> Bool { isPolled.exchange(false, ordering: .acquiringAndReleasing) }
}
