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
    func ended(_ exchange: EndedExchange) {
        let claim = exchange.claim
        switch exchange.end {
        case .finished(let result, let body):
            hosts.noteAnswer(
                of: claim,
                result,
                exchange.metrics,
                at: exchange.url,
                bytes: exchange.bytes
            )
            submit(exchange, .answered(result, body: body))
        case .failed(let failure):
            let failure = claim.meaning(of: failure, mayHaveArrived: exchange.mayHaveArrived)
            let next = outcome(
                on: failure,
                claim,
                exchange.metrics,
                from: exchange.url,
                remaining: exchange.remaining,
                bytes: exchange.bytes
            )
            settle(next, of: claim, after: failure) { submit(exchange, $0) }
        case .abandoned:
            hosts.reachability.note(claim, failure: nil, exchange.metrics)
            submit(exchange, outcome(ofAbandoned: claim, mayHaveArrived: exchange.mayHaveArrived))
        }
    }

    /// Submits the outcome of a failed attempt; when its credential was refused and can be renewed,
    /// a retry follows the renewal.
    private func settle(
        _ outcome: AttemptOutcome,
        of claim: TaskClaim,
        after failure: TransferFailure,
        submit: @escaping @Sendable (AttemptOutcome) -> Void
    ) {
        guard case .askForCredential = outcome, let shown = claim.shown, shown.isRenewable else {
            return submit(outcome)
        }
        credentials.renew(shown) { submit(.retry(failure, after: .zero)) }
    }

    /// Returns the outcome of an attempt that was stopped; the fence refuses it if the attempt was
    /// revoked.
    private func outcome(ofAbandoned claim: TaskClaim, mayHaveArrived: Bool) -> AttemptOutcome {
        // Otherwise the task is free for others at once.
        guard mayHaveArrived, !claim.isIdempotent else { return .released }
        // If it were given back, it would be sent again.
        return .failed(
            TransferFailure(.unknownOutcome, "The worker stopped while the server had it.")
        )
    }

    private func submit(_ exchange: EndedExchange, _ outcome: AttemptOutcome) {
        submit(
            AttemptEnd(
                task: exchange.claim.task,
                fence: exchange.claim.fence,
                outcome: outcome,
                bytesReceived: exchange.bytesReceived,
                bytesSent: exchange.bytesSent,
                metrics: exchange.metrics
            )
        )
    }

    /// Handles the end of an attempt of a download task; called on the curl loop's thread.
    func ended(_ download: EndedDownload) {
        if let dropped = download.dropped { completer.submit(.abandoned(dropped)) }
        switch download.end {
        case .finished(let result):
            hosts.noteAnswer(
                of: download.claim,
                result,
                download.metrics,
                at: download.url,
                bytes: download.bytesReceived
            )
            if let part = download.part {
                finish(download, part, result)
            } else {
                submit(download, .requeued)
            }
        case .failed(let failure): fail(download, failure)
        case .abandoned:
            hosts.reachability.note(download.claim, failure: nil, download.metrics)
            submit(
                download,
                outcome(ofAbandoned: download.claim, mayHaveArrived: download.mayHaveArrived)
            )
        }
    }

    /// Submits a complete file whose checksums are right.
    private func finish(_ download: EndedDownload, _ part: Part, _ result: TransferResult) {
        func settle(_ failure: TransferFailure?) {
            guard let failure else {
                var result = result
                result.checksums = Set(download.wanted).sorted { $0.algorithm < $1.algorithm }
                let pendingRename = PendingRename(
                    of: download.claim,
                    partFence: part.fence,
                    result: result,
                    metrics: download.metrics,
                    resumption: download.resumption
                )
                completer.submit(.part(part, pendingRename))
                return
            }
            var download = download
            // Wrong bytes are not resumed from.
            download.partial = nil
            fail(download, failure)
        }
        guard let follower = download.follower else {
            settle(Verifier.failure(wanted: download.wanted, found: download.found ?? []))
            return
        }
        completer.expect()
        active.verifies(download.claim.fence)
        // The curl loop's thread does not wait for it; the completer counts it until it arrives.
        Task {
            do throws(StorageError) {
                let found = try await follower.checksums(of: result.bytesReceived)
                settle(Verifier.failure(wanted: download.wanted, found: found))
            } catch {
                settle(container.failure(of: error, isChosen: false))
            }
            active.verified(download.claim.fence)
            completer.arrived()
        }
    }

    private func fail(_ download: EndedDownload, _ failure: TransferFailure) {
        let claim = download.claim
        let failure = claim.meaning(of: failure, mayHaveArrived: download.mayHaveArrived)
        let outcome = outcome(
            on: failure,
            claim,
            download.metrics,
            from: download.url,
            remaining: download.remaining,
            bytes: download.bytesReceived
        )
        settle(outcome, of: claim, after: failure) { submit(download, $0) }
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
            .flatMap { $0 < remaining ? $0 : nil }
        if claim.tour == nil, let wait { return .waitForConnectivity(failure, after: wait) }
        return question(after: failure, claim, from: Origin(url), remaining)
            ?? decision(after: failure, claim, connectivityWait: wait, remaining: remaining)
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
            .flatMap { $0 < remaining ? $0 : nil }
        if claim.tour == nil, let wait { return .waitForConnectivity(failure, after: wait) }
        return claim.origin.flatMap { question(after: failure, claim, from: $0, remaining) }
            ?? decision(after: failure, claim, connectivityWait: wait, remaining: remaining)
    }

    /// Returns the question that follows a refused credential, or the end without one; nil where
    /// another URL of the task is asked before its client is, unless that has said otherwise.
    private func question(
        after failure: TransferFailure,
        _ claim: TaskClaim,
        from origin: Origin,
        _ remaining: Duration
    ) -> AttemptOutcome? {
        let outcome = credentials.challenge(failure, claim, from: origin, remaining)
        guard claim.tour != nil else { return outcome }
        let isWanted = claim.options.asksForCredential ?? claim.shown?.isRenewable ?? false
        return isWanted ? outcome : nil
    }

    /// Returns the failure, or the lack of descriptors if that may be the cause: without a free
    /// descriptor no name is resolved and no file of certificate authorities is read.
    private func explained(_ failure: TransferFailure) -> TransferFailure {
        guard [.couldNotResolveHost, .tlsFailure, .authoritiesUnusable].contains(failure.code),
            !container.isOver(.descriptorsExhausted)
        else { return failure }
        return StorageError(operation: "open", errno: EMFILE).failure
    }

    /// Decides whether a failed attempt is followed by another; one of a download with mirrors may
    /// be at another of its URLs, for which `connectivityWait` is the wait for the host alone.
    func decision(
        after failure: TransferFailure,
        _ claim: TaskClaim,
        connectivityWait: Duration? = nil,
        remaining: Duration
    ) -> AttemptOutcome {
        if let shortage = failure.shortage {
            shortages.note(shortage)
            return waitingOut(failure, claim, remaining: remaining)
        }
        let policy = configuration.retryPolicy.overridden(by: claim.options)
        if let tour = claim.tour, failure.isAboutURL {
            let step = tour.step(
                after: failure,
                attempt: claim.number,
                in: claim.sessionKind,
                by: policy,
                connectivityWait: connectivityWait,
                remaining: remaining,
                chance: .random(in: 0..<1)
            )
            return switch step {
            case .move(let move): .moved(failure, move)
            case .giveUp: .failed(failure)
            }
        }
        let decision = policy.decision(
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

    /// Returns the outcome of a copy that asks nothing of its source, because that host is paused.
    func outcome(ofPausedSourceOf claim: TaskClaim) -> AttemptOutcome {
        waitingOut(
            TransferFailure(.sourceUnavailable, "The host of the copy's source is paused."),
            claim,
            remaining: claim.timeoutForResource - claim.elapsed
        )
    }

    /// Returns the outcome of a request that this instance cannot open: another may have the key,
    /// or this one once it is restarted with it.
    func outcome(ofUnreadable claim: TaskClaim) -> AttemptOutcome {
        waitingOut(
            TransferFailure(.couldNotConnect, "This service cannot open the request."),
            claim,
            remaining: claim.timeoutForResource - claim.elapsed
        )
    }

    /// Returns the outcome of an attempt that is not counted; a wait that would outlast the task's
    /// time is not started.
    func waitingOut(
        _ failure: TransferFailure,
        _ claim: TaskClaim,
        remaining: Duration
    ) -> AttemptOutcome {
        let delay = configuration.retryPolicy.delay(
            ofShortage: claim.elapsed,
            chance: .random(in: 0..<1)
        )
        return delay < remaining ? .waitOut(failure, after: delay) : .failed(failure)
    }

    private func submit(_ download: EndedDownload, _ outcome: AttemptOutcome) {
        completer.submit(
            .attemptEnd(
                AttemptEnd(
                    task: download.claim.task,
                    fence: download.claim.fence,
                    outcome: outcome,
                    bytesReceived: download.bytesReceived,
                    partial: download.partial,
                    metrics: download.metrics,
                    resumption: download.resumption
                ),
                part: download.part
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
        let waits = claim.options.waitsForConnectivity ?? false
        return waits && claim.tour == nil
            ? .waitForConnectivity(failure, after: wait)
            : decision(
                after: failure,
                claim,
                connectivityWait: waits ? wait : nil,
                remaining: remaining
            )
    }

    /// Ends a claim for which nothing runs.
    func end(_ claim: TaskClaim, _ outcome: AttemptOutcome) {
        submit(AttemptEnd(task: claim.task, fence: claim.fence, outcome: outcome))
    }

    private func submit(_ attemptEnd: AttemptEnd) {
        completer.submit(.attemptEnd(attemptEnd, part: nil))
    }
}
