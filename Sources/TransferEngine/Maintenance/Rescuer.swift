import Logging
import TransferModel
import TransferStore

/// The part of the engine that takes over what dead workers left.
struct Rescuer {
    /// The worker store for work that must not wait behind the load.
    let lifeline: WorkerStore
    let identity: WorkerIdentity
    let completer: AttemptCompleter
    let signal: QueueSignal
    let lease: Duration
    let logger: Logger

    /// Takes over the attempts and pending renames that dead workers left.
    func rescue() async throws(StoreError) {
        let takeover = try await lifeline.takeOver(
            silentFor: lease,
            identity: identity
        )
        for pendingRename in takeover.pendingRenames {
            completer.submit(.pendingRename(pendingRename))
        }
        for claim in takeover.attempts {
            let attemptEnd = Self.end(
                ofOrphan: claim,
                takeover.deaths[claim.task],
                mayBeResumed: takeover.resumableUploads.contains(claim.task)
            )
            completer.submit(.attemptEnd(attemptEnd, part: nil))
        }
        guard takeover.workers > 0 else { return }
        logger.notice(
            "took over from dead workers",
            metadata: [
                "workers": "\(takeover.workers)", "attempts": "\(takeover.attempts.count)",
                "pending_renames": "\(takeover.pendingRenames.count)",
            ]
        )
        signal.added()
    }

    /// Returns the end of a dead worker's attempt; a task during which one worker after another
    /// died is not given to yet another.
    ///
    /// An upload that its origin continues `mayBeResumed`: what is sent then begins at an offset.
    static func end(
        ofOrphan claim: TaskClaim,
        _ deaths: DeathStreak?,
        mayBeResumed: Bool
    ) -> AttemptEnd {
        guard claim.isIdempotent || mayBeResumed else {
            let failure = TransferFailure(
                .unknownOutcome,
                "Its worker died while the server may have had the \(claim.request.method)."
            )
            return AttemptEnd(task: claim.task, fence: claim.fence, outcome: .failed(failure))
        }
        guard let deaths, deaths.count >= EngineConfiguration.deathsMax else {
            return AttemptEnd(task: claim.task, fence: claim.fence, outcome: .requeued)
        }
        let failure = TransferFailure(
            .poison,
            "Its worker died in \(deaths.count) attempts in a row, none of which got further."
        )
        return AttemptEnd(task: claim.task, fence: claim.fence, outcome: .failed(failure))
    }
}
