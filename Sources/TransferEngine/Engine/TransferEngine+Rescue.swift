import Logging
import TransferModel
import TransferStore

extension TransferEngine {
    /// Takes over the attempts and publications that dead workers left.
    func rescueOnce() async throws(StoreError) {
        let takeover = try await lifeline.takeOver(
            silentFor: configuration.lease,
            identity: identity
        )
        for publication in takeover.publications {
            publisher.submit(.publication(publication))
        }
        for claim in takeover.attempts {
            let conclusion = Self.conclusion(ofOrphan: claim, takeover.deaths[claim.task])
            publisher.submit(.conclusion(conclusion, part: nil))
        }
        guard takeover.workers > 0 else { return }
        logger.notice(
            "took over from dead workers",
            metadata: [
                "workers": "\(takeover.workers)", "attempts": "\(takeover.attempts.count)",
                "publications": "\(takeover.publications.count)",
            ]
        )
        claimer.look()
    }

    /// Removes part files from which no attempt will resume, whoever created them.
    func removeAbandonedParts() async throws(StoreError) {
        let parts = try await stores.parts.abandonedParts()
        guard !parts.isEmpty else { return }
        let removed = await publisher.remove(parts)
        try await stores.parts.forgetAbandonedParts(removed)
    }

    /// Removes part of what invalidated ephemeral sessions have left.
    ///
    /// - Returns: whether there is more.
    func eraseEphemeral() async throws(StoreError) -> Bool {
        let removed = await publisher.remove(try await stores.erasure.tasksToErase())
        // Done even without tasks: a session may have had none.
        let isMore = try await stores.erasure.erase(removed)
        return isMore || removed.count == ErasureStore.erasureTasksMax
    }

    /// Settles attempts and publications that the database assigns to this worker but that are
    /// unknown here because the answer announcing them was lost with its connection.
    func heedForgotten(_ forgotten: inout ForgottenAttempts) async throws(StoreError) {
        let start = ContinuousClock.now
        if let dueAt = forgotten.dueAt, start < dueAt { return }
        // Asked before, so that an attempt that ends meanwhile counts as being stored.
        let isAnyBeingStored = publisher.backlog > 0
        let holdings = try await stores.workers.holdings(incarnation: identity.incarnation)
        let known = active.fences
        let attempts = holdings.attempts.filter { !known.contains($0.fence) }
        let gone = forgotten.look(
            (attempts.map(\.fence) + holdings.publications.map(\.fence))
                .filter { !known.contains($0) },
            isAnyBeingStored: isAnyBeingStored || publisher.backlog > 0,
            from: start,
            at: .now
        )
        try await giveUp(attempts.filter { gone.contains($0.fence) })
        for publication in holdings.publications where gone.contains(publication.fence) {
            logger.notice("finishes a publication", metadata: ["task": "\(publication.task)"])
            publisher.submit(.publication(publication))
        }
    }

    /// Gives back attempts that nobody runs; an attempt whose request may have been sent, and must
    /// not be sent again, ends.
    private func giveUp(_ attempts: [(task: TaskID, fence: Fence)]) async throws(StoreError) {
        let doubtful = attempts.filter { !claimer.unanswered.contains($0.fence) }.map(\.task)
        let repeatable =
            doubtful.isEmpty ? [] : try await stores.control.idempotentTasks(among: doubtful)
        let final = Set(doubtful).subtracting(repeatable)
        for (task, fence) in attempts {
            logger.notice("gave up a forgotten attempt", metadata: ["task": "\(task)"])
            let failure = TransferFailure(
                .unknownOutcome,
                "Its worker lost sight of it while the server may have had the request."
            )
            let verdict: Conclusion.Verdict = final.contains(task) ? .failed(failure) : .released
            publisher.submit(
                .conclusion(Conclusion(task: task, fence: fence, verdict: verdict), part: nil)
            )
        }
    }

    /// Returns the conclusion of a dead worker's attempt; a task during which one worker after
    /// another died is not given to yet another.
    static func conclusion(
        ofOrphan claim: TaskClaim,
        _ deaths: DeathStreak?
    ) -> Conclusion {
        guard claim.isIdempotent else {
            let failure = TransferFailure(
                .unknownOutcome,
                "Its worker died while the server may have had the \(claim.request.method)."
            )
            return Conclusion(task: claim.task, fence: claim.fence, verdict: .failed(failure))
        }
        guard let deaths, deaths.count >= EngineConfiguration.deathsMax else {
            return Conclusion(task: claim.task, fence: claim.fence, verdict: .requeued)
        }
        let failure = TransferFailure(
            .poison,
            "Its worker died in \(deaths.count) attempts in a row, none of which got further."
        )
        return Conclusion(task: claim.task, fence: claim.fence, verdict: .failed(failure))
    }
}
