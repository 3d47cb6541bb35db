import Logging
import TransferModel
import TransferStore

/// The part of the engine that settles what the database assigns to this worker but is unknown
/// here, and stops what runs here but is unknown to the database.
struct ForgottenAttemptFinder {
    let workers: WorkerStore
    let control: ControlStore
    let identity: WorkerIdentity
    let active: ActiveAttempts
    let completer: AttemptCompleter
    let unanswered: UnansweredClaims
    let logger: Logger

    /// Settles attempts and pending renames that the database assigns to this worker but that are
    /// unknown here because the answer announcing them was lost with its connection; and stops
    /// attempts whose claims were lost when the database crashed, or failed over to another server.
    func look(for forgotten: inout ForgottenAttempts) async throws(StoreError) {
        let start = ContinuousClock.now
        if let dueAt = forgotten.dueAt, start < dueAt { return }
        // Asked before, so that an attempt that ends meanwhile counts as being stored.
        let isAnyBeingStored = completer.backlog > 0
        let incarnation = identity.incarnation
        let running = fencesOfRunning(incarnation)
        let holdings = try await workers.holdings(incarnation: incarnation)
        let held =
            holdings.attempts.map(\.fence) + holdings.pendingRenames.map(\.fence)
            + holdings.revocations
        stop(forgotten.look(missing: running.subtracting(held)))
        // What waits to be stored may wait for long, and is not forgotten.
        let known = active.fences.union(completer.heldUp.steps.map(\.fence))
            .union(completer.postponed.fences)
        let attempts = holdings.attempts.filter { !known.contains($0.fence) }
        let gone = forgotten.look(
            (attempts.map(\.fence) + holdings.pendingRenames.map(\.fence))
                .filter { !known.contains($0) },
            isAnyBeingStored: isAnyBeingStored || completer.backlog > 0,
            from: start,
            at: .now
        )
        try await giveUp(attempts.filter { gone.contains($0.fence) })
        for pendingRename in holdings.pendingRenames where gone.contains(pendingRename.fence) {
            logger.notice("finishing a pending rename", metadata: ["task": "\(pendingRename.task)"])
            completer.submit(.pendingRename(pendingRename))
        }
    }

    /// Returns the fences of the attempts that have slots here and were not stopped.
    ///
    /// Those that have ended are not among them: whoever submits the end of one frees its slot in
    /// the same step. Nor are those of former registrations, with which they were dropped.
    private func fencesOfRunning(_ incarnation: Int32) -> Set<Fence> {
        let running = active.all.filter { attempt in
            attempt.claim.fence.incarnation == incarnation && !attempt.connections.isAbandoned
        }
        return Set(running.map(\.claim.fence))
    }

    /// Stops attempts whose ends the database would refuse; their tasks run again as others, or are
    /// gone.
    private func stop(_ lost: Set<Fence>) {
        let attempts = active.attempts(Array(lost))
        guard !attempts.isEmpty else { return }
        logger.notice(
            "stopped attempts that the database does not have",
            metadata: ["count": "\(attempts.count)"]
        )
        active.abandon(attempts)
    }

    /// Gives back attempts that nobody runs; an attempt whose request may have been sent, and must
    /// not be sent again, ends.
    private func giveUp(_ attempts: [(task: TaskID, fence: Fence)]) async throws(StoreError) {
        let doubtful = attempts.filter { !unanswered.contains($0.fence) }.map(\.task)
        let repeatable =
            doubtful.isEmpty ? [] : try await control.idempotentTasks(among: doubtful)
        let final = Set(doubtful).subtracting(repeatable)
        for (task, fence) in attempts {
            logger.notice("gave up a forgotten attempt", metadata: ["task": "\(task)"])
            let failure = TransferFailure(
                .unknownOutcome,
                "Its worker lost sight of it while the server may have had the request."
            )
            let outcome: AttemptOutcome =
                final.contains(task) ? .failed(failure) : .released
            completer.submit(
                .attemptEnd(AttemptEnd(task: task, fence: fence, outcome: outcome), part: nil)
            )
        }
    }
}
