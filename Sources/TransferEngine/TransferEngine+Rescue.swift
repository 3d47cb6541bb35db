import Logging
import TransferModel
import TransferStore

extension TransferEngine {
    /// Takes over what dead workers left, and removes what has outlived its use.
    func rescue() async {
        var forgotten = ForgottenAttempts()
        await repeatedly(configuration.heartbeatInterval) { () throws(StoreError) in
            try await rescueOnce()
            try await removeAbandonedParts()
            try await heedForgotten(&forgotten)
            try await store.continueInvalidations()
            try await store.continueForceQuits()
            if try await store.failUnanswered() > 0 { onEvents() }
        }
    }

    /// Removes what may be much, so that no rescue waits for it.
    func tidy() async {
        await repeatedly(configuration.heartbeatInterval) { () throws(StoreError) in
            try await eraseEphemeral()
            while try await store.pruneIdempotencyKeys() > 0 {}
        }
    }

    private func rescueOnce() async throws(StoreError) {
        let takeover = try await lifeline.takeOver(
            silentFor: configuration.lease,
            identity: identity
        )
        for publication in takeover.publications {
            publisher.submit(.publication(publication))
        }
        for claim in takeover.attempts {
            publisher.submit(.conclusion(Self.conclusion(ofOrphan: claim), part: nil))
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

    /// Removes part files that nobody will go on with, whoever began them.
    private func removeAbandonedParts() async throws(StoreError) {
        let parts = try await store.abandonedParts()
        guard !parts.isEmpty else { return }
        let removed = await publisher.remove(parts)
        try await store.forgetAbandonedParts(removed)
    }

    /// Removes what invalidated ephemeral sessions have left.
    private func eraseEphemeral() async throws(StoreError) {
        var isMore: Bool
        repeat {
            let removed = await publisher.remove(try await store.tasksToErase())
            // Also without any: a session may have had none.
            isMore =
                try await store.erase(removed)
                || removed.count == TransferStore.erasureTasksMax
        } while isMore && !Task.isCancelled
    }

    /// Looks after what is this worker's in the database and unknown here, because the answer that
    /// told of it was lost with its connection.
    private func heedForgotten(_ forgotten: inout ForgottenAttempts) async throws(StoreError) {
        let start = ContinuousClock.now
        if let dueAt = forgotten.dueAt, start < dueAt { return }
        // Asked before, so that what ends meanwhile counts as being stored.
        let isAnyBeingStored = publisher.backlog > 0
        let holdings = try await store.holdings(incarnation: identity.incarnation)
        let known = active.fences
        let attempts = holdings.attempts.filter { !known.contains($0.fence) }
        let gone = forgotten.look(
            (attempts.map(\.fence) + holdings.publications.map(\.fence))
                .filter { !known.contains($0) },
            isAnyBeingStored: isAnyBeingStored || publisher.backlog > 0,
            from: start,
            at: .now
        )
        for attempt in attempts where gone.contains(attempt.fence) {
            logger.notice("gave back an attempt", metadata: ["task": "\(attempt.task)"])
            publisher.submit(
                .conclusion(
                    Conclusion(task: attempt.task, fence: attempt.fence, verdict: .released),
                    part: nil
                )
            )
        }
        for publication in holdings.publications where gone.contains(publication.fence) {
            logger.notice("finishes a publication", metadata: ["task": "\(publication.task)"])
            publisher.submit(.publication(publication))
        }
    }

    /// A task that was running in every worker that died is not given to another one.
    static func conclusion(ofOrphan claim: TaskClaim) -> Conclusion {
        guard claim.isIdempotent else {
            let failure = TransferFailure(
                .unknownOutcome,
                "Its worker died while the server may have had the \(claim.request.method)."
            )
            return Conclusion(task: claim.task, fence: claim.fence, verdict: .failed(failure))
        }
        guard claim.number >= EngineConfiguration.claimsMax else {
            return Conclusion(task: claim.task, fence: claim.fence, verdict: .requeued)
        }
        let failure = TransferFailure(
            .poison,
            "Its worker died in each of \(claim.number) attempts."
        )
        return Conclusion(task: claim.task, fence: claim.fence, verdict: .failed(failure))
    }
}
