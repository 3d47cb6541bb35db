import ServiceLifecycle
import TransferModel

/// Lets requests wait for tasks to change, with one look at the database for all of them.
///
/// As long as anybody waits, the states of all tasks that are waited for are read together, ten
/// times a second: a thousand that wait ask no more often than one.
actor TaskWatch {
    /// Reads where tasks stand; those that are not there are left out.
    typealias States = @Sendable ([TaskID]) async throws -> [TaskID: TransferState]

    /// Requests that wait at once; a further one is answered without waiting.
    static let waitersMax = 1000
    private static let interval: Duration = .milliseconds(100)

    private struct Waiter {
        let task: TaskID
        let known: TransferState
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    private let states: States
    private var waiters: [Int: Waiter] = [:]
    private var lastNumber = 0
    private var isLooking = false

    init(states: @escaping States) { self.states = states }

    /// Returns when the task is in another state than `known`, when `limit` is over, or when the
    /// request is cancelled or the service shuts down.
    func change(of task: TaskID, from known: TransferState, within limit: Duration) async {
        guard waiters.count < Self.waitersMax, !Task.isCancelled else { return }
        lastNumber += 1
        let number = lastNumber
        await withTaskCancellationOrGracefulShutdownHandler {
            await withCheckedContinuation { continuation in
                waiters[number] = Waiter(
                    task: task,
                    known: known,
                    deadline: .now + limit,
                    continuation: continuation
                )
                look()
            }
        } onCancelOrGracefulShutdown: {
            // The handler is not on the actor, and cannot wait for it.
            Task { await self.release(number) }
        }
    }

    private func release(_ number: Int) {
        waiters.removeValue(forKey: number)?.continuation.resume()
    }

    private func look() {
        guard !isLooking else { return }
        isLooking = true
        // It serves all that wait, and so belongs to none of them; ends with the last.
        Task { await lookOn() }
    }

    private func lookOn() async {
        while !waiters.isEmpty {
            let tasks = Set(waiters.values.map(\.task))
            // While the database is away everybody waits on, to the end of their time.
            let found = try? await states(Array(tasks))
            let now = ContinuousClock.now
            for (number, waiter) in waiters {
                // One that came during the look is not in it.
                let isChanged =
                    found.map { tasks.contains(waiter.task) && $0[waiter.task] != waiter.known }
                    ?? false
                if isChanged || waiter.deadline <= now { release(number) }
            }
            try? await Task.sleep(for: Self.interval)
        }
        isLooking = false
    }
}
