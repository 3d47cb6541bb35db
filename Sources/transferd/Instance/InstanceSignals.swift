import ServiceLifecycle
import Synchronization
import TransferModel
import TransferStore

/// Where the parts of this instance tell each other, and those of other instances, that a commit
/// has left something to look at.
final class InstanceSignals: Sendable {
    typealias Listener = @Sendable (Set<Signal>) -> Void

    private struct State {
        var listeners: [Listener] = []
        var relay: SignalRelay?
    }

    private let state = Mutex(State())

    /// Has `listener` told everything from now on; it must not block.
    func add(_ listener: @escaping Listener) { state.withLock { $0.listeners.append(listener) } }

    /// Has other instances told too, by a relay that leads what it hears to ``hear(_:)``.
    func add(_ relay: SignalRelay) { state.withLock { $0.relay = relay } }

    /// Whether other instances are heard now.
    var isHeard: Bool { state.withLock { $0.relay }?.isConnected ?? false }

    /// Tells this instance and the others of its own commit.
    func tell(_ signals: Set<Signal>) {
        hear(signals)
        state.withLock { $0.relay }?.send(signals)
    }

    /// Tells this instance what another one has said.
    func hear(_ signals: Set<Signal>) {
        for listener in state.withLock({ $0.listeners }) { listener(signals) }
    }
}
