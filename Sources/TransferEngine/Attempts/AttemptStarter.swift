import Curl
import Logging
import PollLoop
import TransferContainer
import TransferModel
import TransferStore

/// The part of the engine that starts the attempts of claimed tasks, and frees their slots when
/// they have ended.
final class AttemptStarter: Sendable {
    private let stores: EngineStores
    private let identity: WorkerIdentity
    private let container: Container
    private let packs: Packs
    private let disk: BlockingPool<TenantID>
    private let active: ActiveAttempts
    private let fairShare: SharedFairShare
    private let bandwidth: Bandwidth
    private let reachability: Reachability
    private let credentials: CredentialResolver
    private let uploadResources: UploadResourceKeeper
    private let verifier: Verifier
    private let judge: AttemptJudge
    private let completer: AttemptCompleter
    private let configuration: EngineConfiguration
    private let signal: QueueSignal
    private let logger: Logger
    /// Called when a download has something that should be stored soon.
    private let onCheckpoint: @Sendable () -> Void

    /// A wait, and its claim as far as that has been looked up.
    private struct Waiting {
        let wait: AttemptWait
        let claim: TaskClaim
    }

    init(
        stores: EngineStores,
        identity: WorkerIdentity,
        container: Container,
        packs: Packs,
        disk: BlockingPool<TenantID>,
        active: ActiveAttempts,
        fairShare: SharedFairShare,
        bandwidth: Bandwidth,
        reachability: Reachability,
        credentials: CredentialResolver,
        verifier: Verifier,
        judge: AttemptJudge,
        completer: AttemptCompleter,
        configuration: EngineConfiguration,
        signal: QueueSignal,
        logger: Logger,
        onCheckpoint: @escaping @Sendable () -> Void
    ) {
        self.stores = stores
        self.identity = identity
        self.container = container
        self.packs = packs
        self.disk = disk
        self.active = active
        self.fairShare = fairShare
        self.bandwidth = bandwidth
        self.reachability = reachability
        self.credentials = credentials
        uploadResources = UploadResourceKeeper(store: stores.uploadResources, logger: logger)
        self.verifier = verifier
        self.judge = judge
        self.completer = completer
        self.configuration = configuration
        self.signal = signal
        self.logger = logger
        self.onCheckpoint = onCheckpoint
    }

    /// Starts claimed tasks: those that may show a credential, continue an upload, copy something,
    /// be at a mirror or fail for a test once that has been looked up, and those whose request must
    /// not be sent twice once the claim outlasts a crash of the database.
    ///
    /// Those that do not open wait.
    func begin(_ claims: [TaskClaim]) {
        var repeatable: [AttemptWait] = []
        var unrepeatable: [AttemptWait] = []
        for claim in claims {
            guard
                claim.mayShowCredential || claim.resumableUpload != nil || claim.hasMirrors
                    || claim.isForTests || claim.request.isCopy || !claim.isIdempotent
                    || claim.hasUnreadableSecrets
            else {
                start(claim)
                continue
            }
            let wait = AttemptWait(claim) { [self] in replace($0) {} }
            guard admit(wait) else { continue }
            if claim.isIdempotent { repeatable.append(wait) } else { unrepeatable.append(wait) }
        }
        // The claimer waits for neither.
        if !repeatable.isEmpty { Task { [repeatable] in await self.lookUp(repeatable) } }
        if !unrepeatable.isEmpty {
            Task { [unrepeatable] in await self.makeDurable(unrepeatable) }
        }
    }

    /// Makes the claims of the waits durable, all at once.
    ///
    /// Nothing is sent before, for whoever claims the task next would send it again; and nothing
    /// for a claim that was lost.
    private func makeDurable(_ waits: [AttemptWait]) async {
        var durable: Set<Fence> = []
        do throws(StoreError) {
            durable = try await stores.queue.makeClaimsDurable(waits.map(\.claim))
        } catch {
            logger.debug("claims not durable", metadata: ["error": "\(error)"])
        }
        // Those that were lost, and those that were taken away meanwhile.
        for wait in waits where !durable.contains(wait.claim.fence) { settle(wait, .release) }
        let kept = waits.filter { durable.contains($0.claim.fence) }
        if !kept.isEmpty { await lookUp(kept) }
    }

    /// Looks up what the database knows of the tasks, and starts the attempts that may start.
    private func lookUp(_ waits: [AttemptWait]) async {
        let found: [Waiting]
        do throws(StoreError) {
            let claims = try await lookedUp(waits.map(\.claim))
            found = try await startable(zip(waits, claims).map { Waiting(wait: $0, claim: $1) })
        } catch {
            logger.debug("attempts not looked up", metadata: ["error": "\(error)"])
            // Those that have ended already stay so.
            for wait in waits { settle(wait, .release) }
            return
        }
        await credentials.resolve(found.map(\.claim)) { [self] index, finding in
            settle(found[index].wait, finding)
        }
    }

    /// Returns the claims with their upload resources, results to be copied and mirrors.
    private func lookedUp(_ claims: [TaskClaim]) async throws(StoreError) -> [TaskClaim] {
        var claims = claims
        if claims.contains(where: \.mayHaveBegunUpload) {
            claims = try await stores.uploadResources.resources(of: claims)
        }
        if claims.contains(where: { $0.request.copiedTask != nil }) {
            claims = try await stores.copies.sendingResults(claims)
        }
        if claims.contains(where: \.hasMirrors) {
            let places = try await stores.mirrors.places(of: claims.filter(\.hasMirrors))
            for index in claims.indices { claims[index].turn(to: places[claims[index].task]) }
        }
        return claims
    }

    /// Ends the attempts that this instance cannot open, those of copies of which nothing is to be
    /// asked of the source now, and those that a test of a client wants to fail.
    ///
    /// - Returns: the others.
    private func startable(_ waiting: [Waiting]) async throws(StoreError) -> [Waiting] {
        var waiting = sifted(waiting) { claim in
            claim.hasUnreadableSecrets ? judge.outcome(ofUnreadable: claim) : nil
        }
        if waiting.contains(where: { $0.claim.request.sourceHostKey != nil }) {
            let current = try await stores.pauses.pauses()
            waiting = sifted(waiting) { claim in
                claim.hasPausedSource(current) ? judge.outcome(ofPausedSourceOf: claim) : nil
            }
        }
        let tested = waiting.map(\.claim).filter(\.isForTests)
        if !tested.isEmpty {
            let failures = try await stores.testHooks.takeFailures(of: tested)
            waiting = sifted(waiting) { claim in
                failures[claim.task].map { judge.outcome(ofWanted: $0.failure, claim) }
            }
        }
        return waiting
    }

    /// Ends the attempts that have an outcome, each in place of its wait, and returns the others.
    private func sifted(
        _ waiting: [Waiting],
        by outcome: (TaskClaim) -> AttemptOutcome?
    ) -> [Waiting] {
        waiting.filter { attempt in
            guard let outcome = outcome(attempt.claim) else { return true }
            replace(attempt.wait) { finish(attempt.claim, outcome) }
            return false
        }
    }

    /// Takes the slot from a wait, and has `proceed` put something in its place unless its attempt
    /// was taken away; does nothing when the wait has ended.
    private func replace(_ wait: AttemptWait, _ proceed: () -> Void) {
        guard wait.takeEnd() else { return }
        // The completer counts it while neither its slot nor an entry may stand for it.
        completer.expect()
        defer {
            completer.arrived()
            // Whatever follows may have freed the slot.
            signal.freed()
        }
        let claim = wait.claim
        bandwidth.remove(claim.fence)
        if let postponed = active.remove(claim) {
            // The next attempt of its task is already waiting.
            finish(claim, .released)
            start(postponed)
        } else if wait.isAbandoned {
            finish(claim, .released)
        } else {
            proceed()
        }
    }

    /// Replaces the wait by its attempt, or ends it.
    private func settle(_ wait: AttemptWait, _ finding: CredentialKeeper.Finding) {
        replace(wait) { proceed(with: finding, wait.claim) }
    }

    /// Starts the attempt of a claim, or ends it.
    private func proceed(with finding: CredentialKeeper.Finding, _ claim: TaskClaim) {
        let remaining = claim.timeoutForResource - claim.elapsed
        let outcome: AttemptOutcome
        switch finding {
        case .begin(let claim):
            start(claim)
            return
        case .ask(let failure):
            outcome =
                claim.origin.map { credentials.question(failure, claim, to: $0, remaining) }
                ?? .failed(failure)
        case .retry(let failure):
            outcome = judge.decision(after: failure, claim, remaining: remaining)
        case .waitOut(let failure):
            outcome = judge.waitingOut(failure, claim, remaining: remaining)
        case .release: outcome = .released
        }
        finish(claim, outcome)
    }

    /// Starts an attempt with the credential that it may show.
    private func start(_ claim: TaskClaim) {
        switch active.postpone(claim) {
        case .none: break
        case .postponed(let former):
            // The former one was taken away like the running one, and never started.
            if let former { fairShare.with { $0.ended(former.fence, bytes: 0) } }
            return
        }
        if let wait = reachability.wait(before: claim) {
            return finish(claim, judge.outcome(ofWaiting: wait, forHostOf: claim))
        }
        // Another worker may have the task as soon as this one cannot be sure that others consider
        // it alive.
        let mayBegin: @Sendable () -> Bool = { [identity, fence = claim.fence] in
            identity.isTrusted(fence, at: .now)
        }
        do throws(TransferFailure) {
            let url = try claim.parsedURL()
            switch claim.request.kind {
            case .download:
                let download = Download(
                    claim,
                    url: url,
                    container: container,
                    packs: packs,
                    disk: disk,
                    configuration: configuration,
                    active: active,
                    verifier: verifier,
                    mayBegin: mayBegin,
                    onReached: { [reachability] in reachability.reached([$0]) },
                    onCheckpoint: onCheckpoint,
                    onEnd: { [self] ended in
                        judge.ended(ended)
                        leave(
                            ended.claim,
                            bytes: ended.bytesReceived,
                            partial: ended.partial
                        )
                    }
                )
                admit(download)
            case .upload, .data:
                let exchange = Exchange(
                    claim,
                    url: url,
                    container: container,
                    disk: disk,
                    configuration: configuration,
                    uploadResources: uploadResources,
                    mayBegin: mayBegin,
                    onReached: { [reachability] in reachability.reached([$0]) },
                    onEnd: { [self] ended in
                        judge.ended(ended)
                        leave(ended.claim, bytes: ended.bytes)
                    }
                )
                admit(exchange)
            }
        } catch {
            reachability.forget(claim)
            let remaining = claim.timeoutForResource - claim.elapsed
            finish(claim, judge.decision(after: error, claim, remaining: remaining))
        }
    }

    /// Gives the attempt a slot, or gives the task back when the worker is stopping.
    @discardableResult
    private func admit(_ attempt: any TransferAttempt) -> Bool {
        // Done before it starts, so that its first request keeps to its limits.
        bandwidth.add(attempt)
        if active.insert(attempt) { return true }
        bandwidth.remove(attempt.claim.fence)
        let claim = attempt.claim
        reachability.forget(claim)
        finish(claim, .released)
        return false
    }

    /// Ends a claim for which nothing runs.
    private func finish(_ claim: TaskClaim, _ outcome: AttemptOutcome) {
        judge.end(claim, outcome)
        fairShare.with { $0.ended(claim.fence, bytes: 0) }
    }

    /// Frees the slot of an attempt whose end has been submitted, so that a stopping worker always
    /// sees either the slot or the entry.
    ///
    /// The attempt that waited for the slot knows from the database only what was stored of
    /// `partial` some time ago.
    private func leave(
        _ claim: TaskClaim,
        bytes: Int64,
        partial: PartialDownload? = nil
    ) {
        bandwidth.remove(claim.fence)
        fairShare.with { $0.ended(claim.fence, bytes: bytes) }
        if var postponed = active.remove(claim) {
            if let partial, postponed.partial?.partFence == partial.partFence {
                postponed.partial?.ranges = partial.ranges
                postponed.partial?.mayBeOfAnother = partial.mayBeOfAnother
            }
            start(postponed)
        }
        signal.freed()
    }
}

extension TaskClaim {
    /// Whether it copies what `pauses` keep from being asked for.
    fileprivate func hasPausedSource(_ pauses: [Pause]) -> Bool {
        guard let host = request.sourceHostKey else { return false }
        return pauses.contains { $0.scope.contains(tenant, host) }
    }

    fileprivate func parsedURL() throws(TransferFailure) -> CurlURL {
        do throws(CurlError) {
            return try CurlURL(url)
        } catch {
            throw TransferFailure(error)
        }
    }
}
