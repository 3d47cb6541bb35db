import Curl
import Logging
import TransferContainer
import TransferModel
import TransferStore

/// Fills free slots with tasks from the queue and hands ended attempts to the publisher.
struct Claimer {
    let store: TransferStore
    let identity: WorkerIdentity
    let container: Container
    let curl: CurlLoop
    let active: ActiveAttempts
    let bandwidth: Bandwidth
    let publisher: Publisher
    let verifier: Verifier
    let credentials: CredentialKeeper
    let configuration: EngineConfiguration
    let logger: Logger
    /// Called when a download has something that should be stored soon.
    let onCheckpoint: @Sendable () -> Void
    private let reachability: Reachability
    private let work: WakeSignal

    /// How long freed slots are gathered, so that a claim is worth its transaction.
    private static let gatherInterval: Duration = .milliseconds(4)
    /// Tasks asked for at once.
    private static let claimMax = 256

    init(
        store: TransferStore,
        identity: WorkerIdentity,
        container: Container,
        curl: CurlLoop,
        active: ActiveAttempts,
        bandwidth: Bandwidth,
        publisher: Publisher,
        verifier: Verifier,
        credentials: CredentialKeeper,
        configuration: EngineConfiguration,
        logger: Logger,
        work: WakeSignal,
        onCheckpoint: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.identity = identity
        self.container = container
        self.curl = curl
        self.active = active
        self.bandwidth = bandwidth
        self.publisher = publisher
        self.verifier = verifier
        self.credentials = credentials
        self.configuration = configuration
        self.logger = logger
        self.onCheckpoint = onCheckpoint
        self.work = work
        reachability = Reachability(configuration.connectivity)
    }

    /// Looks for runnable tasks now.
    func wake() { work.signal() }

    /// Claims until cancelled.
    func run() async {
        var position = Lane(key: .min)
        while !Task.isCancelled {
            await work.wait()
            if active.count > 0 {
                do { try await Task.sleep(for: Self.gatherInterval) } catch { return }
            }
            do throws(StoreError) {
                let opened = reachability.takeOpened()
                if !opened.isEmpty { try await store.release(lanes: opened) }
                try await fill(from: &position)
            } catch {
                // The poll comes back; until then nothing is lost, only later.
                logger.debug("no claim", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Claims as long as there are slots and tasks for them, host after host and round again.
    private func fill(from position: inout Lane) async throws(StoreError) {
        var isSecondRound = position.key == .min
        while !Task.isCancelled {
            let free = min(configuration.concurrency - active.count, Self.claimMax)
            guard free > 0, publisher.backlog < EngineConfiguration.backlogMax else { return }
            let claims = try await store.claim(
                TransferStore.ClaimBounds(
                    limit: free,
                    perLane: configuration.connectionsPerHost,
                    busy: active.busy,
                    after: position
                ),
                fences: identity.reserve(free)
            )
            begin(claims)
            let lanes = Set(claims.map(\.lane.key))
            // A claim that was cut short, by slots or by hosts, may have left something behind it.
            let isCutShort = claims.count == free || lanes.count == TransferStore.claimLanesMax
            if let last = lanes.max(), isCutShort {
                position = Lane(key: last)
            } else if isSecondRound {
                position = Lane(key: .min)
                return
            } else {
                isSecondRound = true
                position = Lane(key: .min)
            }
        }
    }

    /// Begins an attempt, with the credential that it may show.
    func start(_ claim: TaskClaim) {
        guard !active.postpone(claim) else { return }
        if let wait = reachability.wait(before: claim) {
            let failure = TransferFailure(
                .couldNotConnect,
                "The host cannot be reached at present."
            )
            let verdict = Conclusion.Verdict.waitForConnectivity(failure, after: wait)
            submit(Conclusion(task: claim.task, fence: claim.fence, verdict: verdict))
            return
        }
        do throws(TransferFailure) {
            let url = try claim.parsedURL()
            switch claim.request.kind {
            case .download:
                let download = Download(
                    claim,
                    url: url,
                    loop: curl,
                    container: container,
                    configuration: configuration,
                    active: active,
                    verifier: verifier,
                    onCheckpoint: onCheckpoint,
                    onEnd: { ended($0) }
                )
                admit(download)
            case .upload, .data:
                let exchange = try Exchange(
                    claim,
                    url: url,
                    loop: curl,
                    container: container,
                    configuration: configuration,
                    onEnd: { ended($0) }
                )
                admit(exchange)
            }
        } catch {
            reachability.forget(claim)
            submit(Conclusion(task: claim.task, fence: claim.fence, verdict: .failed(error)))
        }
    }

    /// Gives the attempt a slot, or the task back when the worker is stopping.
    @discardableResult
    func admit(_ attempt: any TransferAttempt) -> Bool {
        // Before it begins, so that its first request keeps to its limits.
        bandwidth.add(attempt)
        if active.insert(attempt) { return true }
        bandwidth.remove(attempt.claim.fence)
        let claim = attempt.claim
        reachability.forget(claim)
        submit(Conclusion(task: claim.task, fence: claim.fence, verdict: .released))
        return false
    }

    func submit(_ conclusion: Conclusion) {
        publisher.submit(.conclusion(conclusion, part: nil))
    }

    /// An attempt of an upload or a data task has ended; called on the curl loop's thread.
    private func ended(_ ending: Exchange.Ending) {
        let claim = ending.claim
        let verdict: Conclusion.Verdict
        switch ending.end {
        case .finished(let result, let body):
            reachability.note(claim, failure: nil, ending.metrics)
            verdict = .answered(result, body: body)
        case .failed(let failure):
            let outcome = claim.outcome(of: failure, mayHaveArrived: ending.mayHaveArrived)
            let next = self.verdict(
                on: outcome,
                claim,
                ending.metrics,
                from: ending.url,
                remaining: ending.remaining
            )
            guard case .askForCredential = next, let shown = claim.shown, shown.isRenewable else {
                verdict = next
                break
            }
            renew(shown) { conclude(ending, .retry(failure, after: .zero)) }
            leave(claim)
            return
        case .abandoned where ending.mayHaveArrived && !claim.isIdempotent:
            // Given back it would be sent again.
            verdict = .failed(
                TransferFailure(.unknownOutcome, "The worker stopped while the server had it.")
            )
        case .abandoned:
            reachability.note(claim, failure: nil, ending.metrics)
            verdict = .released
        }
        conclude(ending, verdict)
        leave(claim)
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

    /// Frees the slot of an attempt whose end has been submitted, so that a stopping worker never
    /// sees neither slot nor entry.
    ///
    /// The attempt that waited for it knows from the database only what was stored of `partial`
    /// some time ago.
    private func leave(_ claim: TaskClaim, _ partial: PartialDownload? = nil) {
        bandwidth.remove(claim.fence)
        if var postponed = active.remove(claim) {
            if let partial, postponed.partial?.partFence == partial.partFence {
                postponed.partial?.ranges = partial.ranges
            }
            start(postponed)
        }
        wake()
    }

    /// An attempt has ended; called on the curl loop's thread.
    private func ended(_ ending: Download.Ending) {
        if let dropped = ending.dropped { publisher.submit(.abandoned(dropped)) }
        switch ending.end {
        case .finished(let result):
            reachability.note(ending.claim, failure: nil, ending.metrics)
            if let part = ending.part {
                finish(ending, part, result)
            } else {
                conclude(ending, .requeued)
            }
        case .failed(let failure): fail(ending, failure)
        case .abandoned:
            reachability.note(ending.claim, failure: nil, ending.metrics)
            // Refused by the fence if it was revoked; else the task is free for others at once.
            conclude(ending, .released)
        }
        leave(ending.claim, ending.partial)
    }

    /// Publishes a whole file whose checksums are right.
    private func finish(_ ending: Download.Ending, _ part: PartFile, _ result: TransferResult) {
        func settle(_ failure: TransferFailure?) {
            guard let failure else {
                publisher.submit(
                    .part(part, Publication(of: ending, partFence: part.fence, result: result))
                )
                return
            }
            var ending = ending
            // Wrong bytes are not gone on with.
            ending.partial = nil
            fail(ending, failure)
        }
        guard let follower = ending.follower else {
            settle(Verifier.failure(wanted: ending.wanted, found: ending.found ?? []))
            return
        }
        publisher.expect()
        // Not waited for on the curl loop's thread; the publisher counts it until it is there.
        Task {
            do throws(StorageError) {
                let found = try await follower.checksums(of: part.bytesWritten)
                settle(Verifier.failure(wanted: ending.wanted, found: found))
            } catch {
                settle(error.failure)
            }
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
            remaining: ending.remaining
        )
        guard case .askForCredential = verdict, let shown = claim.shown, shown.isRenewable else {
            return conclude(ending, verdict)
        }
        renew(shown) { conclude(ending, .retry(failure, after: .zero)) }
    }

    /// What follows a failed attempt.
    private func verdict(
        on failure: TransferFailure,
        _ claim: TaskClaim,
        _ metrics: AttemptMetrics,
        from url: CurlURL,
        remaining: Duration
    ) -> Conclusion.Verdict {
        let wait = reachability.note(claim, failure: failure, metrics)
        if let wait, wait < remaining { return .waitForConnectivity(failure, after: wait) }
        return challenge(failure, claim, from: url, remaining)
            ?? decision(after: failure, claim, remaining: remaining)
    }

    /// Whether a failed attempt is followed by another.
    func decision(
        after failure: TransferFailure,
        _ claim: TaskClaim,
        remaining: Duration
    ) -> Conclusion.Verdict {
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

extension TaskClaim {
    fileprivate func parsedURL() throws(TransferFailure) -> CurlURL {
        do throws(CurlError) {
            return try CurlURL(url)
        } catch {
            throw TransferFailure(error)
        }
    }
}

extension Publication {
    /// What a finished attempt publishes.
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
