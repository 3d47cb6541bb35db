import TransferWire

/// Submits tasks in the order in which they were resumed, those of one turn with one request.
final class TaskSubmitter: Sendable {
    /// The time for which more tasks are awaited before the first is submitted; a loop that
    /// resumes a thousand tasks takes less.
    private static let gatheringTime: Duration = .milliseconds(2)
    /// The most bytes of one request.
    private static let batchBytesMax = 4 << 20
    /// The longest time for which a request is repeated; the service knows its key for an hour
    /// longer.
    private static let patienceMax: Duration = .seconds(23 * 3600)

    private struct State {
        var waiting: [TransferTask] = []
        /// The tasks whose request is under way.
        var submitting: [TransferTask] = []
        var isRunning = false
    }

    private let state = Watched(State())
    private let bodies = BodyQueue()

    /// Adds a task, and starts the submission unless it runs.
    func add(_ task: TransferTask) {
        let mustStart = state.withLock { state in
            state.waiting.append(task)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard mustStart else { return }
        // Nobody awaits `resume()`: what becomes of a task is told by its end.
        Task { await run(in: task.session) }
    }

    /// The tasks that have not been submitted, or whose submission has not been answered.
    var waiting: [TransferTask] { state.withLock { $0.submitting + $0.waiting } }

    private func run(in session: TransferSession) async {
        while true {
            do {
                try await Task.sleep(for: Self.gatheringTime)
            } catch {
                // Nobody cancels this task; if anyone ever does, batches are smaller.
            }
            let batch = takeBatch()
            guard !batch.isEmpty else { return }
            await submit(batch, in: session)
            for task in batch where task.taskIdentifier != nil && task.stagedFile != nil {
                bodies.add(task)
            }
        }
    }

    /// Cancels a task that has not been sent.
    ///
    /// - Returns: false for one that is being submitted, or was.
    func cancel(_ task: TransferTask) -> Bool {
        let isUnsent = state.withLock { state in
            guard let index = state.waiting.firstIndex(of: task) else { return false }
            state.waiting.remove(at: index)
            return true
        }
        guard isUnsent else { return false }
        task.session.refused(task, TransferTask.cancelled)
        lookAgain()
        return true
    }

    /// Waits until a task that was resumed has been accepted or refused.
    ///
    /// - Throws: ``TransferError`` with the code `cancelled` when the caller is cancelled before.
    func awaitAnswer(to task: TransferTask) async throws(TransferError) {
        try await state.wait { _ in task.isUnanswered }
    }

    /// Waits until each task that was added has been accepted or refused; otherwise like
    /// ``awaitAnswer(to:)``.
    func awaitAnswers() async throws(TransferError) { try await state.wait { $0.isRunning } }

    /// Waits until each task that was added has been accepted or refused, and the file of each
    /// upload has been sent; otherwise like ``awaitAnswer(to:)``.
    func drain() async throws(TransferError) {
        try await awaitAnswers()
        try await bodies.drain()
    }

    /// Takes the tasks of one request; with none, the run ends.
    private func takeBatch() -> [TransferTask] {
        state.change { state in
            let batch = Array(state.waiting.prefix(SubmitRequest.tasksMax))
            state.waiting.removeFirst(batch.count)
            state.submitting = batch
            state.isRunning = !batch.isEmpty
            return batch
        }
    }

    /// Submits tasks, in several requests if one would be too long.
    private func submit(_ tasks: [TransferTask], in session: TransferSession) async {
        var rest: ArraySlice<(TransferTask, [UInt8])> = []
        for task in tasks {
            do throws(TransferError) {
                rest.append((task, try ServiceRequest.encoding(task.submission)))
            } catch {
                session.refused(task, error)
            }
        }
        while !rest.isEmpty {
            var bytes = 0
            let part = rest.prefix { item in
                defer { bytes += item.1.count + 1 }
                return bytes == 0 || bytes + item.1.count <= Self.batchBytesMax
            }
            rest = rest.dropFirst(part.count)
            await submit(part: Array(part), in: session)
            lookAgain()
        }
    }

    /// Lets those who wait for an answer look again; the tasks have it.
    private func lookAgain() { state.change { _ in } }

    /// Submits tasks with one request; those with a fault fail, and the others are submitted
    /// without them.
    private func submit(
        part: [(task: TransferTask, json: [UInt8])],
        in session: TransferSession
    ) async {
        var part = part
        while !part.isEmpty {
            let lease = session.leaseForSubmission(of: part.count)
            do throws(TransferError) {
                try await send(part, under: lease, in: session)
                return
            } catch {
                // With the next tasks it would be renewed for those of a lost response, too.
                if let lease, error.mayFollowSuccess { session.leases.retire(lease.token) }
                let faults = Self.faults(error, count: part.count)
                guard !faults.isEmpty else {
                    for (task, _) in part { session.refused(task, error) }
                    return
                }
                for (index, faults) in faults {
                    session.refused(part[index].task, error.ofItem(faults))
                }
                part = part.enumerated().filter { faults[$0.offset] == nil }.map(\.element)
            }
        }
    }

    /// Sends one request, and again while the service is away, until it is answered.
    private func send(
        _ part: [(task: TransferTask, json: [UInt8])],
        under lease: TransferSession.SubmissionLease?,
        in session: TransferSession
    ) async throws(TransferError) {
        let tasks = part.map(\.task)
        let json = Array(part.map(\.json).joined(separator: [UInt8(ascii: ",")]))
        var request = ServiceRequest(
            "POST",
            APIPath.tasks(ofSession: session.configuration.identifier),
            json: [UInt8(ascii: "[")] + json + [UInt8(ascii: "]")]
        )
        request.headers += lease?.headers ?? []
        let keyed = request.ofClient().withIdempotencyKey()
        let patience = min(session.configuration.timeoutIntervalForSubmission, Self.patienceMax)
        let end = ContinuousClock.now + patience
        _ = try await Self.repeating(in: session, until: end) { () async throws(TransferError) in
            try await session.attach()
        }
        try await session.registering(isSubmission: true) { () async throws(TransferError) in
            // A lease counts from here: a request whose response was lost may have begun it.
            let start = ContinuousClock.now
            let receipt = try await Self.repeating(in: session, until: end) {
                () async throws(TransferError) in
                try await session.service.get(keyed, as: BatchReceipt.self)
            }
            guard receipt.items.count == tasks.count else {
                throw TransferError(.unexpectedResponse, "Receipts are missing.")
            }
            for (task, receipt) in zip(tasks, receipt.items) { task.accept(receipt) }
            if let lease {
                session.keep(
                    LeaseKeeper.Grant(
                        token: lease.token,
                        tasks: tasks,
                        count: tasks.count,
                        start: start
                    )
                )
            }
            return ((), tasks)
        }
    }

    /// Repeats a call beyond the retry policy, while the service is away.
    private static func repeating<Value>(
        in session: TransferSession,
        until end: ContinuousClock.Instant,
        _ call: () async throws(TransferError) -> Value
    ) async throws(TransferError) -> Value {
        var failures = 0
        var mayFollowSuccess = false
        while true {
            do throws(TransferError) {
                return try await call()
            } catch {
                mayFollowSuccess = mayFollowSuccess || error.mayFollowSuccess
                guard error.isOutage, ContinuousClock.now < end else {
                    var error = error
                    error.followsLostResponse = mayFollowSuccess
                    throw error
                }
                failures += 1
                try await TransferService.pause(
                    session.service.retryPolicy.pause(
                        asked: error.retryAfter,
                        attempts: failures,
                        fraction: .random(in: 0...1)
                    )
                )
            }
        }
    }

    /// Returns the faults of the items of a batch, with pointers into the item.
    private static func faults(_ error: TransferError, count: Int) -> [Int: [FieldError]] {
        var faults: [Int: [FieldError]] = [:]
        for fault in error.faults {
            guard let pointer = fault.pointer else { continue }
            let steps = pointer.split(separator: "/", omittingEmptySubsequences: false)
            guard steps.count > 1, let index = Int(steps[1]), (0..<count).contains(index) else {
                continue
            }
            let place = steps.dropFirst(2).map { "/\($0)" }.joined()
            let moved = fault.code.map { FieldError(pointer: place, $0, fault.detail) }
            faults[index, default: []].append(moved ?? fault)
        }
        return faults
    }
}

extension TransferError {
    /// Whether the service may have done what was asked, and only its response was lost.
    fileprivate var mayFollowSuccess: Bool {
        problem == nil || followsLostResponse || (status ?? 0) >= 500
    }

    /// Whether the service is away, or cannot tell yet what has become of the request.
    ///
    /// What it says of a request itself, such as that its queue is full, holds up the tasks that
    /// are resumed later no longer than the retry policy does.
    fileprivate var isOutage: Bool {
        guard RetryPolicy.isCurable(self, isRepeatable: true) else { return false }
        guard let code = problem?.code else { return true }
        return [.unavailable, .idempotencyKeyInUse, .tooManyRequests].contains(code)
    }
}
