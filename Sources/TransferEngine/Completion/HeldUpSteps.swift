import Synchronization
import TransferModel

/// The ends of tasks whose session is locked by another transaction, and those over which the
/// database has failed; they wait apart from all others, whose turns continue.
final class HeldUpSteps<Step: Sendable>: Sendable {
    /// A group of steps that are tried together.
    struct Group: Sendable {
        let steps: [Step]
        let sessions: Set<SessionID>
        /// The time at which the database first failed over them; nil if it has not.
        let failedAt: ContinuousClock.Instant?
    }

    private struct State {
        var groups: [Group] = []
        /// The group that is being tried.
        var tried: Group?

        /// All groups.
        var all: [Group] { (tried.map { [$0] } ?? []) + groups }
    }

    private let state = Mutex(State())
    private let arrival = WakeSignal()

    /// The number of waiting groups.
    var count: Int { state.withLock(\.groups.count) }

    /// The sessions known to be held up; further ends of their tasks join the waiting ones.
    var sessions: Set<SessionID> {
        state.withLock { $0.all.reduce(into: Set()) { $0.formUnion($1.sessions) } }
    }

    /// All waiting steps.
    var steps: [Step] { state.withLock { $0.all.flatMap(\.steps) } }

    /// Whether the database has failed over any of them.
    var isAnyFailed: Bool { state.withLock { $0.all.contains { $0.failedAt != nil } } }

    /// Adds a group after the others, over which the database first failed at `failedAt`.
    func add(
        _ steps: [Step],
        of sessions: Set<SessionID>,
        failedAt: ContinuousClock.Instant? = nil
    ) {
        guard !steps.isEmpty else { return }
        let group = Group(steps: steps, sessions: sessions, failedAt: failedAt)
        state.withLock { $0.groups.append(group) }
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
            state.tried = group
            return group
        }
    }

    /// Records that the group taken last has been stored or added again.
    func tried() { state.withLock { $0.tried = nil } }

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
