import Logging
import TransferModel
import TransferStore

extension TransferEngine {
    /// Takes over what dead workers left, and removes what has outlived its use.
    func rescue() async {
        await repeatedly(configuration.heartbeatInterval) { () throws(StoreError) in
            try await rescueOnce()
            try await store.continueInvalidations()
            while try await store.pruneIdempotencyKeys() > 0 {}
        }
    }

    private func rescueOnce() async throws(StoreError) {
        let takeover = try await store.takeOver(
            silentFor: configuration.lease,
            identity: identity
        )
        for part in takeover.abandonedParts {
            publisher.submit(.abandoned(Container.Place(of: part)))
        }
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
        claimer.wake()
    }

    /// A task that was running in every worker that died is not given to another one.
    static func conclusion(ofOrphan claim: TaskClaim) -> Conclusion {
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
