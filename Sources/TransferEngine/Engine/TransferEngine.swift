package import Curl
package import PollLoop
package import Logging
import ServiceLifecycle
import Synchronization
package import TransferContainer
package import TransferModel
package import TransferStore

/// The service that runs the tasks of the queue: it claims them, transfers them and completes
/// them.
///
/// It is a group of loops around shared values: ``Claimer`` takes tasks, ``AttemptStarter`` starts
/// their attempts, ``AttemptJudge`` decides what their ends mean, ``AttemptCompleter`` stores it,
/// and ``Maintenance`` does the rest. ``LeaseKeeper`` keeps this worker alive in the eyes of
/// others.
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
    private let claimFailures: ClaimFailures
    private let credentials: CredentialKeeper
    private let shards: ShardLeaser
    let active: ActiveAttempts
    private let fairShare: SharedFairShare
    private let controlWatcher: ControlWatcher
    private let shortageWatcher: ShortageWatcher
    private let onWork: @Sendable (Set<HostKey>) -> Void
    /// The signal that wakes the claimer.
    private let queue = QueueSignal()
    /// The signal that wakes the watch over running attempts.
    private let controls = WakeSignal()
    /// The signal that wakes the watch over timers.
    let timers = WakeSignal()
    let removals: Removals
    let network: NetworkStatus
    let logger: Logger
    let loops: CurlLoops
    /// The shortages of this instance, for those who watch it.
    package let shortages = Shortages()
    /// Whether ends are kept here because the database fails over them for a reason of its own.
    package var isAnyEndFailed: Bool { completer.heldUp.isAnyFailed }
    /// Whether no task begins here, because the database fails over each claim for a reason of its
    /// own.
    package var areClaimsFailing: Bool { claimFailures.isPersistent }

    /// The number of threads that wait for the disk; one of them is left to tenants other than the
    /// busiest.
    private static let diskThreadsMax = 4
    /// The time that token endpoints have to answer once everything is given back.
    private static let refreshPatience: Duration = .seconds(5)

    /// Puts the parts together; nothing runs yet.
    ///
    /// `lifeline` has connections of its own; nil stands for those of `stores`. `identity` is
    /// registered, `loops` are used for nothing else, and `disk` does work that may block for long.
    /// `removals` are those of the ``Pruner`` beside it, and `pace` knows which tenants have
    /// requests here. `onEvents` is called after events were committed, to wake their delivery, and
    /// `onWork` after tasks became runnable for which other workers may have room.
    package init(
        stores: EngineStores,
        lifeline: WorkerStore? = nil,
        identity: WorkerIdentity,
        container: Container,
        loops: CurlLoops,
        disk: BlockingPool<TenantID>? = nil,
        configuration: EngineConfiguration,
        removals: Removals = Removals(),
        pace: ClaimPace,
        logger: Logger,
        onEvents: @escaping @Sendable () -> Void,
        onWork: @escaping @Sendable (Set<HostKey>) -> Void = { _ in }
    ) throws {
        self.stores = stores
        self.configuration = configuration
        self.removals = removals
        network = NetworkStatus(isProbed: configuration.networkProbeURL != nil)
        self.logger = logger
        self.loops = loops
        self.onEvents = onEvents
        self.onWork = onWork
        let parts = try EngineParts(
            stores: stores,
            lifeline: lifeline ?? stores.workers,
            identity: identity,
            container: container,
            loops: loops,
            configuration: configuration,
            shortages: shortages,
            queue: queue,
            controls: controls,
            removals: removals,
            pace: pace,
            logger: logger,
            onEvents: onEvents,
            onWork: onWork
        )
        active = parts.active
        fairShare = parts.fairShare
        completer = parts.completer
        hosts = parts.hosts
        shards = parts.shards
        promoter = parts.promoter
        rescuer = parts.rescuer
        finder = parts.finder
        controlWatcher = parts.controlWatcher
        shortageWatcher = parts.shortageWatcher
        let resolver = parts.credentials
        credentials = resolver.keeper
        claimFailures = ClaimFailures(logger: logger)
        claimer = parts.claimer(
            starter: try parts.starter(
                disk: try disk ?? BlockingPool(name: "disk", threadsMax: Self.diskThreadsMax),
                credentials: resolver
            ),
            failures: claimFailures
        )
    }

    /// What has become of this instance's attempts.
    package var attempts: AttemptCounters { completer.counters }

    /// The number of attempts that have a slot of this instance.
    package var runningCount: Int { active.count }

    /// The number of seconds by which the database's clock was set ahead, as long as it is not
    /// followed.
    package var databaseClockAhead: Double? { promoter.clock.ahead }

    /// Whether the network can be reached, as the last probe found; true without any, and
    /// false until the first one has an answer.
    package var isNetworkReachable: Bool { network.isReachable }

    /// Looks for new work and for cancellations now rather than at the next poll.
    package func wake() {
        wake(for: [.work, .control, .timers])
    }

    /// Looks for what the signals announce, and first at `hosts` for work.
    package func wake(for signals: Set<Signal>, at hosts: Set<HostKey> = []) {
        if signals.contains(.work) { queue.added(at: hosts) }
        if signals.contains(.control) { controls.signal() }
        if signals.contains(.timers) { timers.signal() }
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
            onWork([])
            await finishRefreshes()
            group.cancelAll()
        }
        await completer.resultFiles.closePacks()
    }

    private func untilShutdown() async {
        let stopped = WakeSignal()
        await withGracefulShutdownHandler {
            await stopped.wait()
        } onGracefulShutdown: {
            stopped.signal()
        }
    }

    /// Stops the running attempts and waits until each is back in the queue or has ended.
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

    /// Waits a while for the token endpoints that have been asked: an answer may bring the only
    /// refresh token that is still valid.
    private func finishRefreshes() async {
        let end = ContinuousClock.now + Self.refreshPatience
        while .now < end, await !credentials.isIdle {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
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
