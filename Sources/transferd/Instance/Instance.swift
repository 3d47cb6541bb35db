import Curl
import Foundation
import Logging
import ServiceLifecycle
import TransferContainer
import TransferEngine
import TransferModel
import TransferStore
import TransferWebhooks

/// The parts that run tasks and report on them, as far as this instance's roles ask for them.
struct Instance: Sendable {
    /// The services in the order in which they must be started; they are stopped in reverse.
    let services: [any Service]
    /// The registration; nil on an instance that holds neither tasks nor deliveries.
    let identity: WorkerIdentity?
    /// The keeper of the registration, if there is one, until all services have stopped.
    let leaseKeeper: LeaseKeeper?
    /// The sender of messages about no event; origins and subscribers never share connections.
    let sender: WebhookSender
    /// The engine that runs tasks; nil on an instance that runs none.
    let engine: TransferEngine?
    /// What has become of the webhooks of this instance; nil on one that delivers none.
    let deliveries: DeliveryCounters?
    /// Which tenants are there, by their requests and by their tasks.
    let presence = TenantPresence()

    /// Assembles the parts, and registers the instance if it is to hold tasks or deliveries.
    ///
    /// `lifeline` is the same database through connections of its own; only workers use `container`
    /// and `pruner`; `signals` is told what the parts have committed, and tells them what others
    /// have.
    init(
        _ configuration: ServerConfiguration,
        database: Database,
        lifeline: Lifeline,
        container: Container?,
        pruner: Pruner?,
        signals: InstanceSignals,
        control: EgressControl,
        patience: StartPatience,
        logger: Logger
    ) async throws {
        let egress = control.guarding
        let subscribers = try CurlLoop(name: "webhooks")
        sender = WebhookSender(curl: subscribers, egress: egress, version: Version.current)
        let roles = configuration.roles
        guard roles.contains(.worker) || roles.contains(.webhooks) else {
            // It sends only test messages, and is not to be reached through others.
            services = control.services
            (identity, leaseKeeper, engine, deliveries) = (nil, nil, nil, nil)
            return
        }
        let settings = EngineConfiguration(configuration, egress: egress)
        let lock = InstanceLock(in: configuration.database.dataDirectory)
        let identity = try await patience.outwait {
            try await WorkerStore(lifeline.database).register(settings, lock, roles)
        }
        var parts = control.services
        let removals = pruner?.removals
        let dispatch =
            roles.contains(.webhooks)
            ? DispatchService(
                configuration,
                stores: WebhookStores(database),
                worker: identity,
                curl: subscribers,
                egress: egress,
                signals: signals,
                latestDate: { removals?.latestDate },
                logger: logger
            ) : nil
        if let dispatch { parts.append(dispatch) }
        deliveries = dispatch?.counters
        var runner: TransferEngine?
        if roles.contains(.worker), let container, let pruner {
            let worker = try Self.engine(
                settings,
                identity,
                database: database,
                lifeline: lifeline.database,
                container: container,
                removals: pruner.removals,
                presence: presence,
                signals: signals,
                logger: logger
            )
            signals.add { worker.wake(for: $0, at: $1) }
            parts += [pruner, worker]
            runner = worker
        }
        leaseKeeper = Self.leaseKeeper(
            lifeline,
            identity,
            settings,
            roles,
            lock,
            runner,
            logger
        )
        (self.identity, services, engine) = (identity, parts, runner)
    }

    /// Returns a keeper of the lease, whose loss ends what `engine` runs.
    private static func leaseKeeper(
        _ lifeline: Lifeline,
        _ identity: WorkerIdentity,
        _ settings: EngineConfiguration,
        _ roles: Set<InstanceRole>,
        _ lock: InstanceLock?,
        _ engine: TransferEngine?,
        _ logger: Logger
    ) -> LeaseKeeper {
        LeaseKeeper(
            workers: WorkerStore(lifeline.database),
            pulse: WorkerStore(lifeline.pulse),
            identity: identity,
            configuration: settings,
            leasesShards: roles.contains(.worker),
            instanceLock: lock?.name,
            logger: logger,
            onLost: { engine?.dropAttempts() }
        )
    }

    /// Returns an engine that tells `signals` what it has committed.
    private static func engine(
        _ settings: EngineConfiguration,
        _ identity: WorkerIdentity,
        database: Database,
        lifeline: Database,
        container: Container,
        removals: Removals,
        presence: TenantPresence,
        signals: InstanceSignals,
        logger: Logger
    ) throws -> TransferEngine {
        try TransferEngine(
            stores: EngineStores(database),
            lifeline: WorkerStore(lifeline),
            identity: identity,
            container: container,
            loops: CurlLoops(
                name: "transfers",
                count: settings.transferThreads,
                // Room for transfers that are ending while others take their slots.
                connectionsMax: 2 * settings.concurrency
            ),
            configuration: settings,
            removals: removals,
            pace: ClaimPace(beside: presence),
            logger: logger,
            onEvents: { signals.tell([.deliveries, .events]) },
            onWork: { signals.tell([.work], at: $0) }
        )
    }
}

/// Runs the dispatcher, and tells the others when remaining deliveries have been given back.
private struct DispatchService: Service {
    private let dispatcher: WebhookDispatcher
    private let signals: InstanceSignals

    var counters: DeliveryCounters { dispatcher.sender.counters }

    init(
        _ configuration: ServerConfiguration,
        stores: WebhookStores,
        worker: WorkerIdentity,
        curl: CurlLoop,
        egress: EgressGuard,
        signals: InstanceSignals,
        latestDate: @escaping @Sendable () -> Date?,
        logger: Logger
    ) {
        var bounds = DeliveryBounds()
        bounds.pollInterval = configuration.pollInterval
        let dispatcher = WebhookDispatcher(
            stores: stores,
            worker: worker,
            curl: curl,
            egress: egress,
            bounds: bounds,
            linkBase: configuration.server.publicURL,
            version: Version.current,
            latestDate: latestDate,
            logger: logger
        )
        signals.add { signals, _ in dispatcher.wake(for: signals) }
        self.dispatcher = dispatcher
        self.signals = signals
    }

    func run() async throws {
        await dispatcher.run()
        signals.tell([.deliveries])
    }
}

extension WorkerStore {
    fileprivate func register(
        _ settings: EngineConfiguration,
        _ lock: InstanceLock?,
        _ roles: Set<InstanceRole>
    ) async throws(StoreError) -> WorkerIdentity {
        // As with heartbeats: counted from before the database is asked.
        let trustedUntil = ContinuousClock.now + settings.trustDuration
        let identity = WorkerIdentity(
            incarnation: try await registerWorker(
                name: settings.workerName,
                leasesShards: roles.contains(.worker),
                instanceLock: lock?.name
            )
        )
        identity.trust(until: trustedUntil)
        return identity
    }
}

extension EngineConfiguration {
    fileprivate init(_ configuration: ServerConfiguration, egress: EgressGuard) {
        self.init(egress: egress)
        concurrency = configuration.concurrency
        transferThreads = configuration.transferThreads
        connectionsPerHost = configuration.connectionsPerHost
        discretionaryHours = configuration.discretionaryHours
        fileBytesMax = configuration.fileBytesMax
        pollInterval = configuration.pollInterval
        networkProbeURL = configuration.networkProbeURL
        capacity = configuration.capacity
        userAgent = "transferd/\(Version.current)"
        workerName = "\(ProcessInfo.processInfo.hostName):\(getpid())"
    }
}
