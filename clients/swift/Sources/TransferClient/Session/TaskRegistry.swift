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
        /// The number of reconnections that are under way.
        var reconnections = 0
    }

    private let state = Watched(State())
    /// Held while a handle is looked for and, if there is none, made.
    private let making = Mutex(())

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
        state.change { state in
            // One that is followed already may have ended meanwhile, and must not come back.
            for task in tasks where task.state != .completed {
                if let id = task.taskIdentifier { state.tasks[id] = task }
            }
            state.announced.remove(ticket.number)
            state.submissions.remove(ticket.number)
        }
    }

    /// Returns the task of an event, once it can be known; nil for one that nobody here follows.
    ///
    /// - Throws: ``TransferError`` with the code `cancelled` when the caller is cancelled before.
    func task(_ id: String) async throws(TransferError) -> TransferTask? {
        let last = state.withLock(\.lastNumber)
        try await state.wait { state in
            state.tasks[id] == nil && state.announced.contains { $0 <= last }
        }
        return known(id)
    }

    /// Waits until the submissions that are under way have been answered: only then is it known
    /// which tasks of a list have a handle.
    ///
    /// - Throws: ``TransferError`` with the code `cancelled` when the caller is cancelled before.
    func awaitSubmissions() async throws(TransferError) {
        let last = state.withLock(\.lastNumber)
        try await state.wait { state in state.submissions.contains { $0 <= last } }
    }

    /// Notes that a reconnection has begun.
    func beginReconnection() { state.withLock { $0.reconnections += 1 } }

    /// Notes that a reconnection is over, and all that it has found is about to be told.
    func endReconnection() { state.change { $0.reconnections -= 1 } }

    /// Waits until no reconnection is under way.
    ///
    /// - Throws: ``TransferError`` with the code `cancelled` when the caller is cancelled before.
    func awaitReconnections() async throws(TransferError) {
        try await state.wait { $0.reconnections > 0 }
    }

    /// Returns the handle of a task that is followed, or else the one that `make` returns, which is
    /// followed from then on unless it has ended.
    ///
    /// Of two calls that name the same task one makes its handle.
    func handle(of id: String, orMaking make: () -> TransferTask) -> TransferTask {
        // The state is free meanwhile: a new task shows in the progress of its session.
        making.withLock { _ in
            if let task = known(id) { return task }
            let task = make()
            if task.state != .completed { state.withLock { $0.tasks[id] = task } }
            return task
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
