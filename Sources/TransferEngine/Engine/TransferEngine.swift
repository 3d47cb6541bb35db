package import Curl
package import PollLoop
package import Logging
import ServiceLifecycle
import Synchronization
package import TransferContainer
package import TransferModel
package import TransferSecrets
package import TransferStore

/// The service that runs the tasks of the queue: it claims them, transfers them and publishes their
/// files.
///
/// It is a group of loops around shared values: ``Claimer`` takes tasks, ``AttemptStarter`` starts
/// their attempts, ``AttemptJudge`` decides what their ends mean, ``AttemptCompleter`` stores it,
/// and ``Maintenance`` does the rest. ``LeaseKeeper`` keeps this worker alive in the eyes of others.
package struct TransferEngine: Service {
    let stores: EngineStores
    let configuration: EngineConfiguration
    let completer: AttemptCompleter
    let hosts: HostReporter
    let promoter: Promoter
    let rescuer: Rescuer
    let finder: ForgottenAttemptFinder
    let onEvents: @Sendable () -> Void
    private let claimer: Claimer
    private let shards: ShardLeaser
    let active: ActiveAttempts
    private let fairShare: SharedFairShare
    private let controlWatcher: ControlWatcher
    private let shortageWatcher: ShortageWatcher
    private let onWork: @Sendable () -> Void
    /// The signal that wakes the claimer.
    private let queue = QueueSignal()
    /// The signal that wakes the watch over running attempts.
    private let controls = WakeSignal()
    private let logger: Logger
    /// The shortages of this instance, for those who watch it.
    package let shortages = Shortages()

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
        self.configuration = configuration
        self.logger = logger
        self.onEvents = onEvents
        self.onWork = onWork
        let (queue, controls) = (queue, controls)
        let fairShare = SharedFairShare(FairShare.Settings(configuration))
        self.fairShare = fairShare
        active = ActiveAttempts(connectionsMax: configuration.concurrency) {
            fairShare.place(of: $0)
        }
        completer = AttemptCompleter(
            loop: try PollLoop(name: "completer"),
            stores: stores,
            container: container,
            shortages: shortages,
            logger: logger,
            onEnded: { isAnyBackInQueue in
                fairShare.stored(isAnyBackInQueue: isAnyBackInQueue, queue)
                if isAnyBackInQueue { onWork() }
                onEvents()
            }
        )
        let bandwidth = Bandwidth(onQuery: { controls.signal() })
        let unanswered = UnansweredClaims()
        let onRunnable: @Sendable () -> Void = {
            queue.added()
            onWork()
        }
        hosts = HostReporter(
            hosts: stores.hosts,
            queue: stores.queue,
            reachability: Reachability(configuration.connectivity) { claim, change in
                fairShare.record(change, of: claim)
            },
            fairShare: fairShare
        )
        shards = ShardLeaser(
            workers: stores.workers,
            identity: identity,
            fairShare: fairShare,
            active: active,
            logger: logger
        )
        promoter = Promoter(
            queue: stores.queue,
            clock: SharedDatabaseClock(patience: configuration.lease),
            logger: logger,
            onRunnable: onRunnable,
            onEvents: onEvents
        )
        rescuer = Rescuer(
            lifeline: lifeline ?? stores.workers,
            identity: identity,
            completer: completer,
            signal: queue,
            lease: configuration.lease,
            logger: logger
        )
        finder = ForgottenAttemptFinder(
            workers: stores.workers,
            control: stores.control,
            identity: identity,
            active: active,
            completer: completer,
            unanswered: unanswered,
            logger: logger
        )
        controlWatcher = ControlWatcher(
            workers: stores.workers,
            parts: stores.parts,
            identity: identity,
            active: active,
            fairShare: fairShare,
            bandwidth: bandwidth,
            hosts: hosts,
            signal: controls,
            logger: logger,
            onEvents: onEvents
        )
        shortageWatcher = ShortageWatcher(
            shortages: shortages,
            files: completer.resultFiles,
            signal: queue,
            logger: logger
        )
        let credentials = CredentialResolver(
            store: stores.credentials,
            keeper: CredentialKeeper(
                store: stores.credentials,
                box: secrets,
                curl: curl,
                identity: identity,
                egress: configuration.egress,
                logger: logger
            ),
            completer: completer,
            logger: logger
        )
        let starter = AttemptStarter(
            store: stores.queue,
            identity: identity,
            container: container,
            disk: try disk ?? BlockingPool(name: "disk", threadsMax: Self.diskThreadsMax),
            curl: curl,
            active: active,
            fairShare: fairShare,
            bandwidth: bandwidth,
            reachability: hosts.reachability,
            credentials: credentials,
            verifier: try Verifier(),
            judge: AttemptJudge(
                container: container,
                active: active,
                hosts: hosts,
                credentials: credentials,
                completer: completer,
                shortages: shortages,
                configuration: configuration
            ),
            completer: completer,
            configuration: configuration,
            signal: queue,
            logger: logger,
            onCheckpoint: { controls.signal() }
        )
        claimer = Claimer(
            store: stores.queue,
            identity: identity,
            active: active,
            fairShare: fairShare,
            shards: shards,
            reachability: hosts.reachability,
            starter: starter,
            completer: completer,
            configuration: configuration,
            shortages: shortages,
            unanswered: unanswered,
            signal: queue,
            logger: logger
        )
    }

    /// The number of seconds by which the database's clock was set ahead, as long as it is not
    /// followed.
    package var databaseClockAhead: Double? { promoter.clock.clock.withLock(\.ahead) }

    /// Looks for new work and for cancellations now rather than at the next poll.
    package func wake() {
        wake(for: [.work, .control])
    }

    /// Looks for what the signals announce.
    package func wake(for signals: Set<Signal>) {
        if signals.contains(.work) { queue.added() }
        if signals.contains(.control) { controls.signal() }
    }

    /// Drops every running attempt, because they may belong to others now.
    package func dropAttempts() {
        let (running, postponed) = active.takeAll()
        active.abandon(running)
        for claim in postponed { fairShare.with { $0.ended(claim.fence, bytes: 0) } }
    }

    /// Runs until the group shuts down gracefully; then gives back what is not finished.
    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await completer.run() }
            await withDiscardingTaskGroup { loops in
                loops.addTask { await claimer.run() }
                loops.addTask { await maintain() }
                loops.addTask { await controlWatcher.run() }
                loops.addTask { await shortageWatcher.run() }
                loops.addTask {
                    await configuration.pollInterval.repeated {
                        queue.polled()
                        controls.signal()
                    }
                }
                // However rarely the queue is polled, no worker waits long for its share of the
                // hosts.
                loops.addTask {
                    await EngineConfiguration.shardsPollInterval.repeated { queue.freed() }
                }
                await untilShutdown()
                loops.cancelAll()
            }
            await giveBack()
            await shards.release()
            onWork()
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
        completer.stopPostponing()
        while active.count > 0 || completer.backlog > 0 {
            do {
                try await Task.sleep(for: .milliseconds(10))
            } catch {
                return
            }
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
}

extension FairShare.Settings {
    fileprivate init(_ configuration: EngineConfiguration) {
        self.init()
        slots = configuration.concurrency
        perHost = configuration.connectionsPerHost
    }
}

extension SharedFairShare {
    /// Wakes the claimer for what the end of attempts has made room for.
    fileprivate func stored(isAnyBackInQueue: Bool, _ queue: QueueSignal) {
        if with({ $0.stored() }) { queue.freed() }
        if isAnyBackInQueue { queue.added() }
    }
}
