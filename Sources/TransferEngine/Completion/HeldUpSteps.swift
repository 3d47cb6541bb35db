import Synchronization
import TransferModel

/// The ends of tasks whose session is locked by another transaction; they wait apart from all
/// others, whose turns continue.
final class HeldUpSteps<Step: Sendable>: Sendable {
    /// A group of steps that are tried together.
    struct Group: Sendable {
        let steps: [Step]
        let sessions: Set<SessionID>
    }

    private struct State {
        var groups: [Group] = []
        /// The sessions of the group that is being tried.
        var tried: Set<SessionID> = []
    }

    private let state = Mutex(State())
    private let arrival = WakeSignal()

    /// The number of waiting groups.
    var count: Int { state.withLock(\.groups.count) }

    /// The sessions known to be held up; further ends of their tasks join the waiting ones.
    var sessions: Set<SessionID> {
        state.withLock { $0.groups.reduce(into: $0.tried) { $0.formUnion($1.sessions) } }
    }

    /// Adds a group after the others.
    func add(_ steps: [Step], of sessions: Set<SessionID>) {
        guard !steps.isEmpty else { return }
        state.withLock { $0.groups.append(Group(steps: steps, sessions: sessions)) }
        arrival.signal()
    }

    /// Waits until there is a group, or until the task is cancelled.
    func wait() async {
        while count == 0, !Task.isCancelled { await arrival.wait() }
    }

    /// Takes the oldest group; it counts as being tried until the next call.
    func next() -> Group? {
        state.withLock { state in
            let group = state.groups.isEmpty ? nil : state.groups.removeFirst()
            state.tried = group?.sessions ?? []
            return group
        }
    }

    /// Records that the group taken last has been stored or added again.
    func tried() { state.withLock { $0.tried = [] } }

    /// Forgets all waiting groups.
    ///
    /// - Returns: the number of steps forgotten.
    func removeAll() -> Int {
        state.withLock { state in
            defer { state = State() }
            return state.groups.reduce(0) { $0 + $1.steps.count }
        }
    }
}
