import Synchronization

/// The tasks of a session that events are about, by their identifiers.
///
/// An event may come before the response that tells which task it is about. So whoever adds tasks
/// announces it before the request, and an event about an unknown task waits for what was announced
/// before it.
final class TaskRegistry: Sendable {
    /// An announcement.
    struct Ticket: Sendable {
        fileprivate let number: UInt64
    }

    private struct State {
        var tasks: [String: TransferTask] = [:]
        var lastNumber: UInt64 = 0
        var announced: Set<UInt64> = []
        /// The announcements of tasks that are being submitted.
        var submissions: Set<UInt64> = []
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Announces tasks that the service is about to name, and whether they are being submitted.
    func announce(isSubmission: Bool) -> Ticket {
        state.withLock { state in
            state.lastNumber += 1
            state.announced.insert(state.lastNumber)
            if isSubmission { state.submissions.insert(state.lastNumber) }
            return Ticket(number: state.lastNumber)
        }
    }

    /// Adds the tasks that were announced, which may be none.
    func fulfil(_ ticket: Ticket, with tasks: [TransferTask]) {
        let waiters = state.withLock { state in
            for task in tasks {
                if let id = task.taskIdentifier { state.tasks[id] = task }
            }
            state.announced.remove(ticket.number)
            state.submissions.remove(ticket.number)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns the task of an event, once it can be known; nil for one that nobody here follows.
    func task(_ id: String) async -> TransferTask? {
        let last = state.withLock(\.lastNumber)
        await wait { state in
            state.tasks[id] == nil && state.announced.contains { $0 <= last }
        }
        return known(id)
    }

    /// Waits until the submissions that are under way have been answered: only then is it known
    /// which tasks of a list have a handle.
    func awaitSubmissions() async {
        let last = state.withLock(\.lastNumber)
        await wait { state in state.submissions.contains { $0 <= last } }
    }

    private func wait(while isPending: @Sendable (State) -> Bool) async {
        while state.withLock({ isPending($0) }) {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    guard isPending(state) else { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isLate { continuation.resume() }
            }
        }
    }

    /// Returns the handle of a task that is already followed.
    func known(_ id: String) -> TransferTask? { state.withLock { $0.tasks[id] } }

    /// Follows a task no longer.
    func remove(_ task: TransferTask) {
        guard let id = task.taskIdentifier else { return }
        state.withLock { _ = $0.tasks.removeValue(forKey: id) }
    }

    /// All tasks that are followed.
    var all: [TransferTask] { state.withLock { Array($0.tasks.values) } }
}
