package import Curl
package import EventLoop
package import Logging
import ServiceLifecycle
package import TransferContainer
package import TransferModel
package import TransferSecrets
package import TransferStore

/// The service that runs the tasks of the queue: it claims them, transfers them and publishes their
/// files.
///
/// It is a group of loops around shared values: ``Claimer`` fills the slots, ``Publisher`` empties
/// them, and ``Maintenance`` does the rest, such as taking over from dead workers. ``LeaseKeeper``
/// keeps this worker alive in the eyes of others.
package struct TransferEngine: Service {
    let stores: EngineStores
    /// The worker store for work that must not wait behind the load.
    let lifeline: WorkerStore
    let identity: WorkerIdentity
    let configuration: EngineConfiguration
    let claimer: Claimer
    let publisher: Publisher
    let logger: Logger
    let active: ActiveAttempts
    /// The shortages of this instance, for those who watch it.
    package let shortages = Shortages()
    let databaseClock: SharedDatabaseClock
    private let scheduler: Scheduler
    private let bandwidth: Bandwidth
    let onEvents: @Sendable () -> Void
    let onWork: @Sendable () -> Void
    private let controls: WakeSignal

    /// The number of threads that wait for the disk; one of them is left to tenants other than the
    /// busiest.
    private static let diskThreadsMax = 4

    /// Puts the parts together; nothing runs yet.
    ///
    /// `lifeline` has connections of its own; nil stands for those of `stores`. `identity` is
    /// registered, `curl` is used for nothing else, `disk` does work that may block for long, and
    /// `secrets` opens credentials. `onEvents` is called after events were committed, to wake their
    /// delivery, and `onWork` after tasks became runnable for which other workers may have room.
    package init(
        stores: EngineStores,
        lifeline: WorkerStore? = nil,
        identity: WorkerIdentity,
        container: Container,
        curl: CurlLoop,
        disk: BlockingPool<TenantID>? = nil,
        secrets: SecretBox? = nil,
        configuration: EngineConfiguration,
        logger: Logger,
        onEvents: @escaping @Sendable () -> Void,
        onWork: @escaping @Sendable () -> Void = {}
    ) throws {
        self.stores = stores
        self.lifeline = lifeline ?? stores.workers
        self.identity = identity
        self.configuration = configuration
        databaseClock = SharedDatabaseClock(patience: configuration.lease)
        self.logger = logger
        self.onEvents = onEvents
        self.onWork = onWork
        let scheduler = Scheduler(Schedule.Settings(configuration))
        self.scheduler = scheduler
        active = ActiveAttempts(connectionsMax: configuration.concurrency) {
            scheduler.place(of: $0)
        }
        let queue = QueueSignal()
        publisher = Publisher(
            loop: try EventLoop(name: "publisher"),
            stores: stores,
            container: container,
            shortages: shortages,
            logger: logger,
            onConcluded: { isAnyBackInQueue in
                scheduler.stored(isAnyBackInQueue: isAnyBackInQueue, queue)
                if isAnyBackInQueue { onWork() }
                onEvents()
            }
        )
        let controls = WakeSignal()
        self.controls = controls
        bandwidth = Bandwidth(onQuestion: { controls.signal() })
        claimer = Claimer(
            stores: stores,
            identity: identity,
            container: container,
            disk: try disk ?? BlockingPool(name: "disk", threadsMax: Self.diskThreadsMax),
            curl: curl,
            active: active,
            scheduler: scheduler,
            bandwidth: bandwidth,
            publisher: publisher,
            verifier: try Verifier(),
            credentials: CredentialKeeper(
                stores: stores,
                box: secrets,
                curl: curl,
                identity: identity,
                egress: configuration.egress,
                logger: logger
            ),
            configuration: configuration,
            shortages: shortages,
            logger: logger,
            signal: queue,
            onCheckpoint: { controls.signal() }
        )
    }

    /// Looks for new work and for cancellations now rather than at the next poll.
    package func wake() {
        wake(for: [.work, .control])
    }

    /// Looks for what the signals announce.
    package func wake(for signals: Set<Signal>) {
        if signals.contains(.work) { claimer.look() }
        if signals.contains(.control) { controls.signal() }
    }

    /// Drops every running attempt, because they may belong to others now.
    package func dropAttempts() {
        let (running, postponed) = active.takeAll()
        active.abandon(running)
        for claim in postponed { scheduler.with { $0.ended(claim.fence, bytes: 0) } }
    }

    /// Runs until the group shuts down gracefully; then gives back what is not finished.
    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await publisher.run() }
            await withDiscardingTaskGroup { loops in
                loops.addTask { await claimer.run() }
                loops.addTask { await maintain() }
                loops.addTask { await watchControls() }
                loops.addTask { await watchShortages() }
                loops.addTask {
                    await repeatedly(configuration.pollInterval) {
                        claimer.poll()
                        controls.signal()
                    }
                }
                // However rarely the queue is polled, no worker waits long for its share of the
                // hosts.
                loops.addTask {
                    await repeatedly(EngineConfiguration.shardsPollInterval) { claimer.wake() }
                }
                await untilShutdown()
                loops.cancelAll()
            }
            await giveBack()
            await releaseShards()
            group.cancelAll()
        }
    }

    private func untilShutdown() async {
        let stopped = WakeSignal()
        await withGracefulShutdownHandler {
            await stopped.wait()
        } onGracefulShutdown: {
            stopped.signal()
        }
    }

    /// Stops the running attempts and waits until each is back in the queue or published.
    private func giveBack() async {
        active.abandon(active.close())
        publisher.stopPostponing()
        while active.count > 0 || publisher.backlog > 0 {
            do {
                try await Task.sleep(for: .milliseconds(10))
            } catch {
                return
            }
        }
    }

    /// Releases this worker's shards, so that others can claim their tasks at once.
    private func releaseShards() async {
        let shards = scheduler.with { $0.shards }
        do throws(StoreError) {
            try await stores.workers.releaseShards(shards, incarnation: identity.incarnation)
            onWork()
        } catch {
            // They are free as soon as its registration is gone.
            logger.debug("shards not released", metadata: ["error": "\(error)"])
        }
    }

    private func maintain() async {
        do {
            try await Maintenance(chores: chores, logger: logger).run()
        } catch {
            // It ends with the group, and then there is nothing to report.
            logger.debug("maintenance has ended", metadata: ["error": "\(error)"])
        }
    }

    /// Stops cancelled attempts, holds the others to their limits and stores their progress.
    private func watchControls() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await repeatedly(EngineConfiguration.tickInterval) { controls.signal() }
            }
            var revocations = RevocationView()
            var hosts = FailureLog("hosts", logger: logger)
            var controlling = FailureLog("controls", logger: logger)
            var progress = FailureLog("progress", logger: logger)
            while !Task.isCancelled {
                await controls.wait()
                _ = await hosts.watch(recordHosts)
                _ = await controlling.watch { () throws(StoreError) in
                    try await heedControls(&revocations)
                }
                _ = await progress.watch(recordProgress)
            }
        }
    }

    private func recordHosts() async throws(StoreError) {
        let changes = scheduler.takeChanges()
        do throws(StoreError) {
            try await stores.hosts.record(changes)
        } catch {
            // A change that the database refuses once it refuses for ever, along with all changes
            // in the same batch.
            if case .unavailable = error { scheduler.putBack(changes) }
            throw error
        }
    }

    private func recordProgress() async throws(StoreError) {
        let news = active.takeProgress()
        // As long as bytes flow, no host counts as unreachable.
        claimer.reachability.reached(news.heard)
        scheduler.with { schedule in
            for attempt in news.progress {
                let bytes = attempt.bytesReceived + attempt.bytesSent
                schedule.moved(attempt.fence, bytes: bytes)
            }
        }
        do throws(StoreError) {
            if !(try await stores.parts.recordResumptions(news.resumptions)).isEmpty { onEvents() }
            if !news.progress.isEmpty, try await stores.parts.recordProgress(news.progress) {
                onEvents()
            }
        } catch {
            active.restore()
            throw error
        }
    }

    private func heedControls(_ revocations: inout RevocationView) async throws(StoreError) {
        let question = bandwidth.question
        let controls = try await stores.workers.controls(
            incarnation: identity.incarnation,
            question
        )
        bandwidth.apply(controls, to: question)
        try await stop(controls.revocations, &revocations)
    }

    /// Stops revoked attempts; a revocation is kept until its attempt has ended, so that the part
    /// file is still known after a crash in between.
    private func stop(
        _ revoked: [Fence],
        _ revocations: inout RevocationView
    ) async throws(StoreError) {
        let dropped = active.drop(postponed: revoked)
        for claim in dropped { scheduler.with { $0.ended(claim.fence, bytes: 0) } }
        let running = active.attempts(revoked)
        active.abandon(running)
        let ended = revocations.ended(
            revoked,
            running: Set(running.map(\.claim.fence)),
            dropped: Set(dropped.map(\.fence)),
            at: .now
        )
        if !ended.isEmpty { try await stores.workers.removeRevocations(ended) }
    }

    /// Runs `body` at jittered intervals until cancelled.
    private func repeatedly(_ interval: Duration, _ body: () -> Void) async {
        while !Task.isCancelled {
            body()
            do { try await Task.sleep(for: interval.jittered) } catch { return }
        }
    }
}

extension Schedule.Settings {
    fileprivate init(_ configuration: EngineConfiguration) {
        self.init()
        slots = configuration.concurrency
        perHost = configuration.connectionsPerHost
    }
}

extension Scheduler {
    /// Wakes the claimer for what the end of attempts has made room for.
    fileprivate func stored(isAnyBackInQueue: Bool, _ queue: QueueSignal) {
        if with({ $0.stored() }) { queue.freed() }
        if isAnyBackInQueue { queue.added() }
    }
}
