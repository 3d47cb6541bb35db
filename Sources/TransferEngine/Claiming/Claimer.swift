import Curl
import EventLoop
import Foundation
import Logging
import TransferContainer
import TransferModel
import TransferStore

/// The part of the engine that fills free slots with tasks from the queue and hands ended attempts
/// to the publisher.
struct Claimer {
    let stores: EngineStores
    let identity: WorkerIdentity
    let container: Container
    let disk: BlockingPool<TenantID>
    let curl: CurlLoop
    let active: ActiveAttempts
    let bandwidth: Bandwidth
    let publisher: Publisher
    let verifier: Verifier
    let credentials: CredentialKeeper
    let configuration: EngineConfiguration
    let shortages: Shortages
    let logger: Logger
    /// Called when a download has something that should be stored soon.
    let onCheckpoint: @Sendable () -> Void
    let scheduler: Scheduler
    let reachability: Reachability
    /// The claims that the database may have made without their answer arriving here.
    let unanswered = UnansweredClaims()
    private let signal: QueueSignal

    /// The time for which freed slots are gathered, so that a claim is worth its transaction;
    /// meanwhile the tasks claimed ahead start.
    private static let gatherInterval: Duration = .milliseconds(4)
    /// The maximum number of tasks asked for at once.
    private static let claimMax = 256
    /// The longest time it claims without attending to anything else.
    private static let fillMax: Duration = .milliseconds(20)
    /// The time after which it checks again whether the publisher has caught up.
    private static let backlogPause: Duration = .milliseconds(10)

    init(
        stores: EngineStores,
        identity: WorkerIdentity,
        container: Container,
        disk: BlockingPool<TenantID>,
        curl: CurlLoop,
        active: ActiveAttempts,
        scheduler: Scheduler,
        bandwidth: Bandwidth,
        publisher: Publisher,
        verifier: Verifier,
        credentials: CredentialKeeper,
        configuration: EngineConfiguration,
        shortages: Shortages,
        logger: Logger,
        signal: QueueSignal,
        onCheckpoint: @escaping @Sendable () -> Void
    ) {
        self.stores = stores
        self.identity = identity
        self.container = container
        self.disk = disk
        self.curl = curl
        self.active = active
        self.scheduler = scheduler
        self.bandwidth = bandwidth
        self.publisher = publisher
        self.verifier = verifier
        self.credentials = credentials
        self.configuration = configuration
        self.shortages = shortages
        self.logger = logger
        self.onCheckpoint = onCheckpoint
        self.signal = signal
        reachability = Reachability(configuration.connectivity) { claim, change in
            scheduler.record(change, of: claim)
        }
    }

    /// Fills slots that have become free.
    func wake() { signal.freed() }

    /// Looks for runnable tasks now, including tasks of unknown flows.
    func look() { signal.added() }

    /// Looks for runnable tasks in case no notification announced them.
    func poll() { signal.polled() }

    /// Claims until cancelled.
    func run() async {
        var queue = QueueView()
        while !Task.isCancelled {
            await signal.wait()
            if active.count > 0 {
                do { try await Task.sleep(for: Self.gatherInterval) } catch { return }
            }
            do throws(StoreError) {
                try await tendShards(&queue)
                active.beginWaiting(in: scheduler.with { $0.shards })
                try await fill(&queue)
                giveWay()
                wakeAfterRest(&queue)
            } catch {
                // The next poll tries again; until then nothing is lost, only delayed.
                logger.debug("no claim", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Claims as long as there are slots and tasks for them and nothing else is due; otherwise
    /// slots that become free during a claim would keep it from ever ending.
    private func fill(_ queue: inout QueueView) async throws(StoreError) {
        if signal.takeAdded() { queue.isStale = true }
        if signal.takePolled() { queue.isPolled = true }
        _ = try await look(at: &queue)
        let end = ContinuousClock.now + Self.fillMax
        // Once there is enough again, the loop is woken.
        while !Task.isCancelled, shortages.isNone {
            guard publisher.backlog < EngineConfiguration.backlogMax else {
                return wake(after: Self.backlogPause)
            }
            guard .now < end else { return wake() }
            // Tasks that cannot be started are not claimed; a poll comes back when they can.
            guard identity.isTrusted(at: .now) else { return }
            let (grants, bound) = scheduler.with { schedule in
                let grants = schedule.grants(
                    Self.claimMax,
                    isOpenHour: configuration.discretionaryHours.contains(Date()),
                    isClosed: reachability.isClosed
                )
                return (grants, schedule.boundTenants(of: grants))
            }
            guard !grants.isEmpty else {
                guard try await look(at: &queue) else { return }
                continue
            }
            let count = grants.reduce(0) { $0 + $1.count }
            let fences = identity.reserve(count)
            let claims: [TaskClaim]
            do throws(StoreError) {
                // A registration other than the one that has the shards claims nothing.
                claims =
                    fences.incarnation == queue.incarnation
                    ? try await stores.queue.claim(grants, boundTenants: bound, fences: fences) : []
            } catch {
                unanswered.note(fences, count: count)
                scheduler.with { $0.took([], of: grants) }
                queue.isStale = true
                throw error
            }
            // Before any of them can end.
            scheduler.with { $0.took(claims, of: grants) }
            // The task served first gets the connection that is free; the others were claimed
            // ahead.
            begin(claims.inOrder(of: grants))
        }
    }

    /// Gives back attempts whose places others have waited for in vain.
    private func giveWay() {
        let unconnected = scheduler.with(\.isShared) ? active.unconnected : []
        let (fences, isAnyWaiting) = scheduler.with { schedule in
            (schedule.givingWay(unconnected: unconnected), !schedule.newcomers.isEmpty)
        }
        if !fences.isEmpty {
            logger.info("attempts give way", metadata: ["count": "\(fences.count)"])
            active.abandon(active.attempts(fences))
        }
        if isAnyWaiting { wake(after: scheduler.with { $0.settings.patience }) }
    }

    /// Plans a wake-up for the time when a postponed look is allowed.
    private func wakeAfterRest(_ queue: inout QueueView) {
        if let rest = queue.takeRest(at: .now) { wake(after: rest) }
    }

    private func wake(after pause: Duration) {
        Task {
            // If the sleep is cut short, there is only one wake-up too many.
            try? await Task.sleep(for: pause)
            wake()
        }
    }

    /// Looks for flows that have tasks, as far as it is worthwhile.
    ///
    /// - Returns: whether any were found.
    private func look(at queue: inout QueueView) async throws(StoreError) -> Bool {
        let lanes = scheduler.with { $0.shards.lanes }
        let begin = ContinuousClock.now
        guard !lanes.isEmpty, queue.mayLook(at: begin) else { return false }
        let flows = try await stores.queue.waitingFlows(in: lanes, after: queue.position)
        let isComplete = scheduler.with { $0.note(flows.filter(\.mayBegin)) }
        queue.looked(
            from: begin,
            to: .now,
            foundUpTo: flows.count < QueueStore.flowsMax ? nil : flows.last?.flow
        )
        // Flows that found no room are looked for again.
        if !isComplete { queue.isStale = true }
        return !flows.isEmpty
    }

    /// Starts an attempt with the credential that it may show.
    func start(_ claim: TaskClaim) {
        switch active.postpone(claim) {
        case .none: break
        case .postponed(let former):
            // The former one was taken away like the running one, and never started.
            if let former { scheduler.with { $0.ended(former.fence, bytes: 0) } }
            return
        }
        if let wait = reachability.wait(before: claim) {
            return putOff(claim, while: wait)
        }
        // Another worker may have the task as soon as this one cannot be sure that others consider
        // it alive.
        let mayBegin: @Sendable () -> Bool = { [identity] in
            identity.isTrusted(claim.fence, at: .now)
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
                    disk: disk,
                    configuration: configuration,
                    active: active,
                    verifier: verifier,
                    mayBegin: mayBegin,
                    onReached: { reachability.reached([claim]) },
                    onCheckpoint: onCheckpoint,
                    onEnd: { ended($0) }
                )
                admit(download)
            case .upload, .data:
                let exchange = Exchange(
                    claim,
                    url: url,
                    loop: curl,
                    container: container,
                    disk: disk,
                    configuration: configuration,
                    mayBegin: mayBegin,
                    onReached: { reachability.reached([claim]) },
                    onEnd: { ended($0) }
                )
                admit(exchange)
            }
        } catch {
            reachability.forget(claim)
            let remaining = claim.timeoutForResource - claim.elapsed
            end(claim, decision(after: error, claim, remaining: remaining))
        }
    }

    /// Gives the attempt a slot, or gives the task back when the worker is stopping.
    @discardableResult
    func admit(_ attempt: any TransferAttempt) -> Bool {
        // Done before it starts, so that its first request keeps to its limits.
        bandwidth.add(attempt)
        if active.insert(attempt) { return true }
        bandwidth.remove(attempt.claim.fence)
        let claim = attempt.claim
        reachability.forget(claim)
        end(claim, .released)
        return false
    }

    /// Ends a claim for which nothing runs.
    func end(_ claim: TaskClaim, _ verdict: Conclusion.Verdict) {
        submit(Conclusion(task: claim.task, fence: claim.fence, verdict: verdict))
        scheduler.with { $0.ended(claim.fence, bytes: 0) }
    }

    func submit(_ conclusion: Conclusion) {
        publisher.submit(.conclusion(conclusion, part: nil))
    }

    /// Frees the slot of an attempt whose end has been submitted, so that a stopping worker always
    /// sees either the slot or the entry.
    ///
    /// The attempt that waited for the slot knows from the database only what was stored of
    /// `partial` some time ago.
    func leave(_ claim: TaskClaim, bytes: Int64, _ partial: PartialDownload? = nil) {
        bandwidth.remove(claim.fence)
        scheduler.with { $0.ended(claim.fence, bytes: bytes) }
        if var postponed = active.remove(claim) {
            if let partial, postponed.partial?.partFence == partial.partFence {
                postponed.partial?.ranges = partial.ranges
            }
            start(postponed)
        }
        wake()
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

extension [TaskClaim] {
    fileprivate func inOrder(of grants: [FlowGrant]) -> [TaskClaim] {
        // For the tasks of a single tenant the order does not matter.
        guard contains(where: { $0.tenant != first?.tenant }) else { return self }
        let places = Dictionary(
            zip(grants.map(\.flow), grants.indices),
            uniquingKeysWith: { first, _ in first }
        )
        return enumerated().sorted { left, right in
            (places[left.element.flow] ?? grants.count, left.offset)
                < (places[right.element.flow] ?? grants.count, right.offset)
        }
        .map(\.element)
    }
}
