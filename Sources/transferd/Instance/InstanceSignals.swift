import Synchronization
import TransferModel
import TransferStore

/// The hub where this instance's parts tell each other and other instances about commits.
///
/// A signal means that a commit has left something to look at.
final class InstanceSignals: Sendable {
    typealias Listener = @Sendable (Set<Signal>, Set<HostKey>) -> Void

    private struct State {
        var listeners: [Listener] = []
        var relay: SignalRelay?
    }

    private let state = Mutex(State())

    /// Adds a listener that is told everything from now on; it must not block.
    func add(_ listener: @escaping Listener) { state.withLock { $0.listeners.append(listener) } }

    /// Adds a relay, which tells other instances too and passes what it hears to
    /// ``hear(_:at:)``.
    func add(_ relay: SignalRelay) { state.withLock { $0.relay = relay } }

    /// Whether the signals of other instances arrive now.
    var isHeard: Bool { state.withLock { $0.relay }?.isConnected ?? false }

    /// Tells this instance and the others about a commit of its own, and at which hosts it may have
    /// left work.
    func tell(_ signals: Set<Signal>, at hosts: Set<HostKey> = []) {
        hear(signals, at: hosts)
        state.withLock { $0.relay }?.send(signals, at: hosts)
    }

    /// Passes on to this instance what another one has said.
    func hear(_ signals: Set<Signal>, at hosts: Set<HostKey>) {
        for listener in state.withLock({ $0.listeners }) { listener(signals, hosts) }
    }
}
