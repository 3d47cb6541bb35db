import Curl
import Glibc
import TransferContainer
import TransferModel

/// The part of the engine that decides what the end of an attempt means for its task, and hands it
/// to the completer.
struct AttemptJudge {
    let container: Container
    let active: ActiveAttempts
    let hosts: HostReporter
    let credentials: CredentialResolver
    let completer: AttemptCompleter
    let shortages: Shortages
    let configuration: EngineConfiguration

    /// Handles the end of an attempt of an upload or data task; called on the curl loop's thread.
    func ended(_ ending: Exchange.Ending) {
        let claim = ending.claim
        let outcome: AttemptOutcome
        switch ending.end {
        case .finished(let result, let body):
            hosts.noteAnswer(
                of: claim,
                result,
                ending.metrics,
                at: ending.url,
                bytes: ending.bytes
            )
            outcome = .answered(result, body: body)
        case .failed(let failure):
            let failure = claim.meaning(of: failure, mayHaveArrived: ending.mayHaveArrived)
            let next = self.outcome(
                on: failure,
                claim,
                ending.metrics,
                from: ending.url,
                remaining: ending.remaining,
                bytes: ending.bytes
            )
            guard case .askForCredential = next, let shown = claim.shown, shown.isRenewable else {
                outcome = next
                break
            }
            credentials.renew(shown) { submit(ending, .retry(failure, after: .zero)) }
            return
        case .abandoned where ending.mayHaveArrived && !claim.isIdempotent:
            // If it were given back, it would be sent again.
            outcome = .failed(
                TransferFailure(.unknownOutcome, "The worker stopped while the server had it.")
            )
        case .abandoned:
            hosts.reachability.note(claim, failure: nil, ending.metrics)
            outcome = .released
        }
        submit(ending, outcome)
    }

    private func submit(_ ending: Exchange.Ending, _ outcome: AttemptOutcome) {
        submit(
            AttemptEnd(
                task: ending.claim.task,
                fence: ending.claim.fence,
                outcome: outcome,
                bytesReceived: ending.bytesReceived,
                bytesSent: ending.bytesSent,
                metrics: ending.metrics
            )
        )
    }

    /// Handles the end of an attempt of a download task; called on the curl loop's thread.
    func ended(_ ending: Download.Ending) {
        if let dropped = ending.dropped { completer.submit(.abandoned(dropped)) }
        switch ending.end {
        case .finished(let result):
            hosts.noteAnswer(
                of: ending.claim,
                result,
                ending.metrics,
                at: ending.url,
                bytes: ending.bytesReceived
            )
            if let part = ending.part {
                finish(ending, part, result)
            } else {
                submit(ending, .requeued)
            }
        case .failed(let failure): fail(ending, failure)
        case .abandoned:
            hosts.reachability.note(ending.claim, failure: nil, ending.metrics)
            // The fence refuses this if the attempt was revoked; otherwise the task is free for
            // others at once.
            submit(ending, .released)
        }
    }

    /// Publishes a complete file whose checksums are right.
    private func finish(_ ending: Download.Ending, _ part: PartFile, _ result: TransferResult) {
        func settle(_ failure: TransferFailure?) {
            guard let failure else {
                var result = result
                result.checksums = Set(ending.wanted).sorted { $0.algorithm < $1.algorithm }
                completer.submit(
                    .part(part, PendingRename(of: ending, partFence: part.fence, result: result))
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
        completer.expect()
        active.verifies(ending.claim.fence)
        // The curl loop's thread does not wait for it; the completer counts it until it arrives.
        Task {
            do throws(StorageError) {
                let found = try await follower.checksums(of: part.bytesWritten)
                settle(Verifier.failure(wanted: ending.wanted, found: found))
            } catch {
                settle(container.failure(of: error, isChosen: false))
            }
            active.verified(ending.claim.fence)
            completer.arrived()
        }
    }

    private func fail(_ ending: Download.Ending, _ failure: TransferFailure) {
        let claim = ending.claim
        let failure = claim.meaning(
            of: failure,
            mayHaveArrived: ending.metrics.remoteAddress != nil
        )
        let outcome = outcome(
            on: failure,
            claim,
            ending.metrics,
            from: ending.url,
            remaining: ending.remaining,
            bytes: ending.bytesReceived
        )
        guard case .askForCredential = outcome, let shown = claim.shown, shown.isRenewable else {
            return submit(ending, outcome)
        }
        credentials.renew(shown) { submit(ending, .retry(failure, after: .zero)) }
    }

    /// Returns the outcome of a failed attempt.
    private func outcome(
        on failure: TransferFailure,
        _ claim: TaskClaim,
        _ metrics: AttemptMetrics,
        from url: CurlURL,
        remaining: Duration,
        bytes: Int64
    ) -> AttemptOutcome {
        let failure = explained(failure)
        let wait = hosts.noteFailure(of: claim, failure, metrics, at: url, bytes: bytes)
        if let wait, wait < remaining { return .waitForConnectivity(failure, after: wait) }
        return credentials.challenge(failure, claim, from: Origin(url), remaining)
            ?? decision(after: failure, claim, remaining: remaining)
    }

    /// Returns the outcome of an attempt that sends nothing, because a test of a client wants it to
    /// fail: what follows when its origin fails like this, but nothing is learnt about the host.
    func outcome(ofWanted failure: TransferFailure, _ claim: TaskClaim) -> AttemptOutcome {
        let failure = claim.meaning(
            of: failure,
            mayHaveArrived: !failure.isWithoutConnection
        )
        let remaining = claim.timeoutForResource - claim.elapsed
        let wait = hosts.reachability.wait(afterWanted: failure, of: claim)
        if let wait, wait < remaining { return .waitForConnectivity(failure, after: wait) }
        return claim.origin.flatMap { credentials.challenge(failure, claim, from: $0, remaining) }
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
    ) -> AttemptOutcome {
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
            in: claim.sessionKind,
            remaining: remaining,
            chance: .random(in: 0..<1)
        )
        return switch decision {
        case .retry(let delay): .retry(failure, after: delay)
        case .giveUp: .failed(failure)
        }
    }

    private func submit(_ ending: Download.Ending, _ outcome: AttemptOutcome) {
        completer.submit(
            .attemptEnd(
                AttemptEnd(
                    task: ending.claim.task,
                    fence: ending.claim.fence,
                    outcome: outcome,
                    bytesReceived: ending.bytesReceived,
                    partial: ending.partial,
                    metrics: ending.metrics,
                    resumption: ending.resumption
                ),
                part: ending.part
            )
        )
    }

    /// Returns the outcome of a claim of a task whose host is closed, without a request to the
    /// host: the task waits for the host if it waits for connectivity; otherwise this counts as one
    /// of its attempts.
    func outcome(ofWaiting wait: Duration, forHostOf claim: TaskClaim) -> AttemptOutcome {
        let failure = TransferFailure(
            .couldNotConnect,
            "The host has not been reached for a while; it is tried by one attempt at a time."
        )
        let remaining = claim.timeoutForResource - claim.elapsed
        return claim.options.waitsForConnectivity ?? false
            ? .waitForConnectivity(failure, after: wait)
            : decision(after: failure, claim, remaining: remaining)
    }

    /// Ends a claim for which nothing runs.
    func end(_ claim: TaskClaim, _ outcome: AttemptOutcome) {
        submit(AttemptEnd(task: claim.task, fence: claim.fence, outcome: outcome))
    }

    private func submit(_ attemptEnd: AttemptEnd) {
        completer.submit(.attemptEnd(attemptEnd, part: nil))
    }
}

extension PendingRename {
    /// Creates the pending rename of a finished attempt.
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
    var bytes: Int64 { bytesReceived + bytesSent - bytesSkipped }
}
