import Synchronization
import TransferModel

/// Ends of tasks whose session somebody else holds: they wait beside those of all others, whose turns
/// go on.
final class HeldUpSteps<Step: Sendable>: Sendable {
    /// What is tried together.
    struct Group: Sendable {
        let steps: [Step]
        let sessions: Set<SessionID>
    }

    private struct State {
        var groups: [Group] = []
        /// Those of the group that is being tried.
        var tried: Set<SessionID> = []
    }

    private let state = Mutex(State())
    private let arrival = WakeSignal()

    /// How many groups wait.
    var count: Int { state.withLock(\.groups.count) }

    /// The sessions that are known to be held up; what ends of them joins what waits.
    var sessions: Set<SessionID> {
        state.withLock { $0.groups.reduce(into: $0.tried) { $0.formUnion($1.sessions) } }
    }

    /// Adds a group behind the others.
    func add(_ steps: [Step], of sessions: Set<SessionID>) {
        guard !steps.isEmpty else { return }
        state.withLock { $0.groups.append(Group(steps: steps, sessions: sessions)) }
        arrival.signal()
    }

    /// Waits until there is something, or the task is cancelled.
    func wait() async {
        while count == 0, !Task.isCancelled { await arrival.wait() }
    }

    /// Takes the oldest group to be tried, until the next call.
    func next() -> Group? {
        state.withLock { state in
            let group = state.groups.isEmpty ? nil : state.groups.removeFirst()
            state.tried = group?.sessions ?? []
            return group
        }
    }

    /// The group that was taken last has been stored or added again.
    func tried() { state.withLock { $0.tried = [] } }

    /// Forgets what waits.
    ///
    /// - Returns: how many steps that were.
    func removeAll() -> Int {
        state.withLock { state in
            defer { state = State() }
            return state.groups.reduce(0) { $0 + $1.steps.count }
        }
    }
}
