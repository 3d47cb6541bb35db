import Curl
import Logging
import PollLoop
import TransferContainer
import TransferModel
import TransferStore

/// The parts of an engine, put together from the values that they share.
struct EngineParts {
    let stores: EngineStores
    let lifeline: WorkerStore
    let identity: WorkerIdentity
    let container: Container
    let loops: CurlLoops
    let configuration: EngineConfiguration
    let shortages: Shortages
    let queue: QueueSignal
    let controls: WakeSignal
    let removals: Removals
    let pace: ClaimPace
    let logger: Logger
    let onEvents: @Sendable () -> Void
    let onWork: @Sendable (Set<HostKey>) -> Void
    let fairShare: SharedFairShare
    let active: ActiveAttempts
    let completer: AttemptCompleter
    let bandwidth: Bandwidth
    let hosts: HostReporter
    private let packs: Packs
    private let unanswered = UnansweredClaims()

    init(
        stores: EngineStores,
        lifeline: WorkerStore,
        identity: WorkerIdentity,
        container: Container,
        loops: CurlLoops,
        configuration: EngineConfiguration,
        shortages: Shortages,
        queue: QueueSignal,
        controls: WakeSignal,
        removals: Removals,
        pace: ClaimPace,
        logger: Logger,
        onEvents: @escaping @Sendable () -> Void,
        onWork: @escaping @Sendable (Set<HostKey>) -> Void
    ) throws {
        self.stores = stores
        self.lifeline = lifeline
        self.identity = identity
        self.container = container
        self.loops = loops
        self.configuration = configuration
        self.shortages = shortages
        self.queue = queue
        self.controls = controls
        self.removals = removals
        self.pace = pace
        self.logger = logger
        self.onEvents = onEvents
        self.onWork = onWork
        let fairShare = SharedFairShare(FairShare.Settings(configuration))
        self.fairShare = fairShare
        active = ActiveAttempts(on: loops, connectionsMax: configuration.concurrency) {
            fairShare.place(of: $0)
        }
        packs = Packs(container)
        completer = AttemptCompleter(
            loop: try PollLoop(name: "completer"),
            stores: stores,
            container: container,
            packs: packs,
            shortages: shortages,
            logger: logger,
            onEnded: { isAnyBackInQueue in
                fairShare.stored(isAnyBackInQueue: isAnyBackInQueue, queue)
                if isAnyBackInQueue { onWork([]) }
                onEvents()
            }
        )
        bandwidth = Bandwidth(onQuery: { controls.signal() })
        hosts = HostReporter(
            hosts: stores.hosts,
            queue: stores.queue,
            reachability: Reachability(
                configuration.connectivity,
                retryPolicy: configuration.retryPolicy
            ) { claim, change in
                fairShare.record(change, of: claim)
            },
            fairShare: fairShare
        )
    }

    var shards: ShardLeaser {
        ShardLeaser(
            workers: stores.workers,
            identity: identity,
            fairShare: fairShare,
            active: active,
            logger: logger
        )
    }

    var promoter: Promoter {
        Promoter(
            queue: stores.queue,
            clock: SharedDatabaseClock(patience: configuration.lease),
            removalClock: removals.clock,
            logger: logger,
            onRunnable: { [queue, onWork] hosts in
                queue.added(at: hosts)
                onWork(hosts)
            },
            onEvents: onEvents
        )
    }

    var rescuer: Rescuer {
        Rescuer(
            lifeline: lifeline,
            identity: identity,
            completer: completer,
            signal: queue,
            lease: configuration.lease,
            logger: logger
        )
    }

    var finder: ForgottenAttemptFinder {
        ForgottenAttemptFinder(
            workers: stores.workers,
            control: stores.control,
            identity: identity,
            active: active,
            completer: completer,
            unanswered: unanswered,
            logger: logger
        )
    }

    var controlWatcher: ControlWatcher {
        ControlWatcher(
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
    }

    var shortageWatcher: ShortageWatcher {
        ShortageWatcher(
            shortages: shortages,
            files: completer.resultFiles,
            signal: queue,
            logger: logger
        )
    }

    var credentials: CredentialResolver {
        CredentialResolver(
            store: stores.credentials,
            keeper: CredentialKeeper(
                store: stores.credentials,
                curl: loops.first,
                identity: identity,
                egress: configuration.egress,
                logger: logger
            ),
            completer: completer,
            logger: logger
        )
    }

    func starter(
        disk: BlockingPool<TenantID>,
        credentials: CredentialResolver
    ) throws -> AttemptStarter {
        AttemptStarter(
            stores: stores,
            identity: identity,
            container: container,
            packs: packs,
            disk: disk,
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
            onCheckpoint: { [controls] in controls.signal() }
        )
    }

    func claimer(starter: AttemptStarter, failures: ClaimFailures) -> Claimer {
        Claimer(
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
            failures: failures,
            signal: queue,
            pace: pace,
            logger: logger
        )
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
