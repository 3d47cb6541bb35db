import Curl
import Glibc
import TransferContainer
import TransferModel

extension Claimer {
    /// Handles the end of an attempt of an upload or data task; called on the curl loop's thread.
    func ended(_ ending: Exchange.Ending) {
        let claim = ending.claim
        let verdict: Conclusion.Verdict
        switch ending.end {
        case .finished(let result, let body):
            noteAnswer(
                of: claim,
                result,
                ending.metrics,
                at: ending.url,
                bytes: ending.bytes
            )
            verdict = .answered(result, body: body)
        case .failed(let failure):
            let outcome = claim.outcome(of: failure, mayHaveArrived: ending.mayHaveArrived)
            let next = self.verdict(
                on: outcome,
                claim,
                ending.metrics,
                from: ending.url,
                remaining: ending.remaining,
                bytes: ending.bytes
            )
            guard case .askForCredential = next, let shown = claim.shown, shown.isRenewable else {
                verdict = next
                break
            }
            renew(shown) { conclude(ending, .retry(failure, after: .zero)) }
            leave(claim, bytes: ending.bytes)
            return
        case .abandoned where ending.mayHaveArrived && !claim.isIdempotent:
            // If it were given back, it would be sent again.
            verdict = .failed(
                TransferFailure(.unknownOutcome, "The worker stopped while the server had it.")
            )
        case .abandoned:
            reachability.note(claim, failure: nil, ending.metrics)
            verdict = .released
        }
        conclude(ending, verdict)
        leave(claim, bytes: ending.bytes)
    }

    private func conclude(_ ending: Exchange.Ending, _ verdict: Conclusion.Verdict) {
        submit(
            Conclusion(
                task: ending.claim.task,
                fence: ending.claim.fence,
                verdict: verdict,
                bytesReceived: ending.bytesReceived,
                bytesSent: ending.bytesSent,
                metrics: ending.metrics
            )
        )
    }

    /// Handles the end of an attempt of a download task; called on the curl loop's thread.
    func ended(_ ending: Download.Ending) {
        if let dropped = ending.dropped { publisher.submit(.abandoned(dropped)) }
        switch ending.end {
        case .finished(let result):
            noteAnswer(
                of: ending.claim,
                result,
                ending.metrics,
                at: ending.url,
                bytes: ending.bytesReceived
            )
            if let part = ending.part {
                finish(ending, part, result)
            } else {
                conclude(ending, .requeued)
            }
        case .failed(let failure): fail(ending, failure)
        case .abandoned:
            reachability.note(ending.claim, failure: nil, ending.metrics)
            // The fence refuses this if the attempt was revoked; otherwise the task is free for
            // others at once.
            conclude(ending, .released)
        }
        leave(ending.claim, bytes: ending.bytesReceived, ending.partial)
    }

    /// Publishes a complete file whose checksums are right.
    private func finish(_ ending: Download.Ending, _ part: PartFile, _ result: TransferResult) {
        func settle(_ failure: TransferFailure?) {
            guard let failure else {
                publisher.submit(
                    .part(part, Publication(of: ending, partFence: part.fence, result: result))
                )
                return
            }
            var ending = ending
            // Wrong bytes are not resumed from.
            ending.partial = nil
            fail(ending, failure)
        }
        guard let follower = ending.follower else {
            settle(Verifier.failure(wanted: ending.wanted, found: ending.found ?? []))
            return
        }
        publisher.expect()
        active.verifies(ending.claim.fence)
        // The curl loop's thread does not wait for it; the publisher counts it until it arrives.
        Task {
            do throws(StorageError) {
                let found = try await follower.checksums(of: part.bytesWritten)
                settle(Verifier.failure(wanted: ending.wanted, found: found))
            } catch {
                settle(container.failure(of: error, isChosen: false))
            }
            active.verified(ending.claim.fence)
            publisher.arrived()
        }
    }

    private func fail(_ ending: Download.Ending, _ failure: TransferFailure) {
        let claim = ending.claim
        let outcome = claim.outcome(
            of: failure,
            mayHaveArrived: ending.metrics.remoteAddress != nil
        )
        let verdict = verdict(
            on: outcome,
            claim,
            ending.metrics,
            from: ending.url,
            remaining: ending.remaining,
            bytes: ending.bytesReceived
        )
        guard case .askForCredential = verdict, let shown = claim.shown, shown.isRenewable else {
            return conclude(ending, verdict)
        }
        renew(shown) { conclude(ending, .retry(failure, after: .zero)) }
    }

    /// Returns the verdict on a failed attempt.
    private func verdict(
        on failure: TransferFailure,
        _ claim: TaskClaim,
        _ metrics: AttemptMetrics,
        from url: CurlURL,
        remaining: Duration,
        bytes: Int64
    ) -> Conclusion.Verdict {
        let failure = explained(failure)
        let wait = noteFailure(of: claim, failure, metrics, at: url, bytes: bytes)
        if let wait, wait < remaining { return .waitForConnectivity(failure, after: wait) }
        return challenge(failure, claim, from: url, remaining)
            ?? decision(after: failure, claim, remaining: remaining)
    }

    /// Returns the failure, or the lack of descriptors if that may be the cause: without a free
    /// descriptor no name is resolved and no file of certificate authorities is read.
    private func explained(_ failure: TransferFailure) -> TransferFailure {
        guard [.couldNotResolveHost, .tlsFailure].contains(failure.code),
            !container.isOver(.descriptorsExhausted)
        else { return failure }
        return StorageError(operation: "open", errno: EMFILE).failure
    }

    /// Decides whether a failed attempt is followed by another.
    func decision(
        after failure: TransferFailure,
        _ claim: TaskClaim,
        remaining: Duration
    ) -> Conclusion.Verdict {
        if let shortage = failure.shortage {
            shortages.note(shortage)
            let delay = configuration.retryPolicy.delay(
                ofShortage: claim.elapsed,
                chance: .random(in: 0..<1)
            )
            // A wait that would outlast the task's time is not started.
            return delay < remaining ? .waitOut(failure, after: delay) : .failed(failure)
        }
        let decision = configuration.retryPolicy.overridden(by: claim.options).decision(
            after: failure,
            attempt: claim.number,
            remaining: remaining,
            chance: .random(in: 0..<1)
        )
        return switch decision {
        case .retry(let delay): .retry(failure, after: delay)
        case .giveUp: .failed(failure)
        }
    }

    private func conclude(_ ending: Download.Ending, _ verdict: Conclusion.Verdict) {
        publisher.submit(
            .conclusion(
                Conclusion(
                    task: ending.claim.task,
                    fence: ending.claim.fence,
                    verdict: verdict,
                    bytesReceived: ending.bytesReceived,
                    partial: ending.partial,
                    metrics: ending.metrics,
                    resumption: ending.resumption
                ),
                part: ending.part
            )
        )
    }
}

extension Publication {
    /// Creates the publication of a finished attempt.
    init(of ending: Download.Ending, partFence: Fence, result: TransferResult) {
        let claim = ending.claim
        self.init(
            task: claim.task,
            fence: claim.fence,
            partFence: partFence,
            tenant: claim.tenant,
            session: claim.session,
            number: claim.number,
            destination: claim.destination,
            result: result,
            metrics: ending.metrics,
            resumption: ending.resumption
        )
    }
}

extension Exchange.Ending {
    /// The bytes transferred in both directions.
    fileprivate var bytes: Int64 { bytesReceived + bytesSent }
}
