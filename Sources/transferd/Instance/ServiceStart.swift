import Foundation
import Logging
import PollLoop
import Postgres
import ServiceLifecycle
import Synchronization
import TransferContainer
import TransferEngine
import TransferHTTP
import TransferModel
import TransferStore
import TransferWebhooks

/// Assembles and starts everything that needs the database, once it is there.
final class ServiceStart: Sendable {
    /// The parts that run once the start is complete.
    struct Parts: Sendable {
        /// The API; nil on an instance that does not answer clients.
        let api: TransferAPI?
        /// The transfers, deliveries and what they need.
        let work: ServiceBlock
        /// The services that show the instance to be alive, up to the end of the work.
        let base: ServiceBlock
    }

    private struct State {
        var server: DatabaseServer?
        var parts: Parts?
    }

    private let state = Mutex(State())
    private let configuration: ServerConfiguration
    private let monitor: HealthMonitor
    private let signals: InstanceSignals
    private let health: HealthSource
    private let connections: ConnectionRegistry
    private let metrics: MetricsCollector
    private let own: OwnEndpoints
    private let logger: Logger
    private let onEnd: @Sendable ((any Error)?) -> Void

    /// Creates a start that calls `onEnd` when a part ends, with what one of its services threw.
    init(
        _ configuration: ServerConfiguration,
        monitor: HealthMonitor,
        signals: InstanceSignals,
        health: HealthSource,
        connections: ConnectionRegistry,
        metrics: MetricsCollector,
        own: OwnEndpoints,
        logger: Logger,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.configuration = configuration
        self.monitor = monitor
        self.signals = signals
        self.health = health
        self.connections = connections
        self.metrics = metrics
        self.own = own
        self.logger = logger
        self.onEnd = onEnd
    }

    private var patience: StartPatience {
        StartPatience(monitor: monitor, logger: logger, server: server)
    }

    /// The database, from the time when it has to be closed again.
    var server: DatabaseServer? { state.withLock { $0.server } }

    /// The running parts, from the time when they have to be stopped again.
    var parts: Parts? { state.withLock { $0.parts } }

    /// Waits for the database as long as it takes, then starts the parts.
    ///
    /// - Throws: an error that does not resolve itself.
    func run() async throws -> Parts {
        let location = configuration.database
        let server = try await patience.outwait { [logger, own] in
            try await DatabaseServer.open(location, logger: logger) { own.add($0) }
        }
        state.withLock { $0.server = server }
        var settings = StoreSettings()
        settings.schemaVersion = try await patience.outwait { [configuration, logger] in
            try await server.migrate(past: configuration.signals.databaseURL, logger: logger)
        }
        try checkRest(beside: server)
        try await tellRights(server)
        settings.resultRetention = configuration.retention.results
        settings.queueMax = configuration.queueMax
        let secretsKeys = SecretsKeyFile(configuration)
        settings.secrets = try secretsKeys.box(logger: logger)
        let pool = try server.pool()
        let database = watchedDatabase(pool, settings)
        try await tellLossySettings(database)
        let lifeline = try Lifeline(server, settings: settings)
        let audit = AuditStore(database)
        try await patience.outwait { try await audit.begin() }
        let trail = AuditTrail(audit, logger: logger)
        let roles = configuration.roles
        let container = try openContainer(beside: server)
        try await writeFirstKey(location, database)
        try await patience.outwait {
            try await secretsKeys.check(settings.secrets, SecretsKeyStore(database))
        }
        let relay = configuration.signals.listens ? relay(server) : nil
        let instance = try await Instance(
            configuration,
            database: database,
            lifeline: lifeline,
            container: container,
            pruner: try await pruner(EngineStores(database), container),
            signals: signals,
            control: try await egress(database),
            patience: patience,
            logger: logger
        )
        monitor.tell(of: instance.identity, instance.engine)
        metrics.tell(
            of: MetricsCollector.Parts(
                fleet: FleetStore(database),
                pool: pool,
                container: container,
                engine: instance.engine,
                deliveries: instance.deliveries
            )
        )
        var services: [any Service] = [PoolService(pool: pool), HeapTrimmer()]
        if let relay { services.append(RelayService(relay: relay)) }
        services.append(TaskCounter(counts: CountStore(database), logger: logger))
        if roles.contains(.api) { services.append(trail) }
        services += instance.services
        let clientAPI: TransferAPI? = try container.flatMap {
            roles.contains(.api)
                ? try api(APIStores(database), $0, instance, trail) : nil
        }
        if let clientAPI { services.append(KeyRecall(api: clientAPI, logger: logger)) }
        let parts = Parts(
            api: clientAPI,
            work: ServiceBlock("work", services, logger: logger, onEnd: onEnd),
            base: base(server, pool, lifeline, instance.leaseKeeper, settings)
        )
        state.withLock { $0.parts = parts }
        return parts
    }

    /// Checks what a private cluster, which runs now, has left of the machine to this instance.
    private func checkRest(beside server: DatabaseServer) throws(TooFewThreads) {
        guard server.isPrivate else { return }
        try ThreadLimit.check(transferThreads: configuration.transferThreads)
        guard Memory.bytes < Self.memoryBytesMin else { return }
        logger.warning(
            "the memory is small for a private database: use 512 MiB, or DATABASE_URL",
            metadata: ["bytes": "\(Memory.bytes)"]
        )
    }

    /// The memory below which a private cluster and an instance, both busy, exceed it, however few
    /// connections they have.
    private static let memoryBytesMin: Int64 = 512 << 20

    /// Opens the container; nil for an instance without files.
    private func openContainer(beside server: DatabaseServer) throws -> Container? {
        guard configuration.roles.contains(.api) || configuration.roles.contains(.worker) else {
            return nil
        }
        let container = try Container(
            directory: server.location.containers,
            besideDatabaseIn: server.isPrivate ? server.location.dataDirectory : nil
        )
        if container.isSmall {
            logger.warning(
                "the disk is small for a private database and files: use 1 GiB, or DATABASE_URL"
            )
        }
        return container
    }

    /// Returns the database over a pool, after the monitor was told to ask it.
    private func watchedDatabase(_ pool: ConnectionPool, _ settings: StoreSettings) -> Database {
        let database = Database(pool: pool, settings: settings)
        monitor.asks { database.lacksSpace }
        return database
    }

    /// Logs that the service's role, or any other, may do more than it has to.
    private func tellRights(_ server: DatabaseServer) async throws {
        if try await patience.outwait({ try await server.isEverybodys() }) {
            logger.warning(
                "every role of the server may drop partitions of the logs: run `transferd migrate`"
            )
        }
        let rights = try await patience.outwait { try await server.rights() }
        guard case .definitions(let role, let reason) = rights else { return }
        logger.notice(
            "the service's role may change the schema: give `serve` one prepared by `migrate --grant-to`",
            metadata: ["role": "\(role)", "reason": "\(reason)"]
        )
    }

    /// Logs which settings of the server may lose what was committed.
    private func tellLossySettings(_ database: Database) async throws {
        let names = try await patience.outwait { try await database.lossySettings() }
        guard !names.isEmpty else { return }
        logger.warning(
            "a crash of PostgreSQL may lose accepted tasks: switch these settings on",
            metadata: ["settings": "\(names.joined(separator: ", "))"]
        )
    }

    private func base(
        _ server: DatabaseServer,
        _ pool: ConnectionPool,
        _ lifeline: Lifeline,
        _ leaseKeeper: LeaseKeeper?,
        _ settings: StoreSettings
    ) -> ServiceBlock {
        var services: [any Service] = [
            PoolService(pool: lifeline.pool),
            PoolService(pool: lifeline.pulsePool),
            DatabaseWatch(
                fleet: FleetStore(lifeline.pulse),
                version: settings.schemaVersion,
                monitor: monitor,
                logger: logger,
                revive: { try await server.revive() },
                onSilenceEnd: {
                    pool.doubt()
                    lifeline.pool.doubt()
                },
                onOutdated: { [onEnd] in onEnd($0) }
            ),
            // Until the end of the work, which may seal up to then, and not behind its load.
            SecretsKeyWatch(
                box: settings.secrets,
                store: SecretsKeyStore(lifeline.database),
                logger: logger
            ),
        ]
        if let leaseKeeper { services.append(leaseKeeper) }
        return ServiceBlock("registration", services, logger: logger, onEnd: onEnd)
    }

    private func api(
        _ stores: APIStores,
        _ container: Container,
        _ instance: Instance,
        _ audit: AuditTrail
    ) throws -> TransferAPI {
        let polls = LongPollHub(stores: stores, logger: logger)
        signals.add { signals, _ in if signals.contains(.events) { polls.signal() } }
        // Only a worker probes.
        let engine = instance.engine
        let isProbed = configuration.networkProbeURL != nil
        return TransferAPI(
            stores: stores,
            container: container,
            uploadBytesMax: configuration.fileBytesMax,
            connectionsPerHost: configuration.connectionsPerHost,
            linkBase: configuration.server.publicURL,
            egress: configuration.egress,
            health: health,
            polls: polls,
            connections: connections,
            presence: instance.presence,
            counters: metrics.requests,
            tell: { [signals] in signals.tell($0, at: $1) },
            hasNetwork: { engine?.isNetworkReachable ?? (isProbed ? nil : true) },
            sendTest: { await instance.sender.sendTest(of: $0, to: $1, for: $2) },
            openAPIDocument: Array(
                try Data(
                    contentsOf: URL(fileURLWithPath: configuration.database.openAPIDocument)
                )
            ),
            page: configuration.server.offersPage
                ? try PageFiles(folder: configuration.database.page) : nil,
            audit: audit,
            logger: logger
        )
    }

    private func pruner(_ stores: EngineStores, _ container: Container?) async throws -> Pruner? {
        guard let container else { return nil }
        let pruner = try Pruner(
            stores: stores,
            container: container,
            retention: Pruner.Retention(
                events: configuration.retention.events,
                attempts: configuration.retention.attempts,
                sessions: configuration.retention.sessions,
                audit: configuration.retention.audit
            ),
            logger: logger
        )
        do {
            try await pruner.makePartitions()
        } catch {
            // The attempt is repeated while the service runs, which can do without them.
            logger.warning("no partitions made", metadata: ["error": "\(error)"])
        }
        return pruner
    }

    /// Returns what decides where requests go.
    private func egress(_ database: Database) async throws -> EgressControl {
        try await EgressControl(
            configuration.egress,
            through: try configuration.egressProxy?.load(),
            database,
            own: own,
            patience: patience,
            logger: logger
        )
    }

    /// Returns the relay that passes signals between this instance's parts and other instances.
    private func relay(_ server: DatabaseServer) -> SignalRelay {
        let connection = server.signalConfiguration(configuration.signals.databaseURL)
        let relay = SignalRelay(
            logger: logger,
            connect: { () async throws(PostgresError) in
                try await Connection.open(connection, on: server.loop)
            },
            onSignals: { [signals] in signals.hear($0, at: $1) }
        )
        signals.add(relay)
        return relay
    }

    /// Creates a key at the first start of a private cluster, where nobody could have made one.
    private func writeFirstKey(_ location: DatabaseLocation, _ database: Database) async throws {
        guard location.url == nil,
            !FileManager.default.fileExists(atPath: location.apiKeyFile)
        else { return }
        let key = APIKey.generate()
        _ = try await patience.outwait {
            try await Command.audited(
                "serve",
                about: "\(key.id) of \(Keys.tenantDefault)",
                in: database
            ) {
                try await KeyStore(database).createAPIKey(
                    NewAPIKey(
                        id: key.id,
                        secretSHA256: key.secretSHA256,
                        name: "first start"
                    ),
                    tenantName: Keys.tenantDefault
                )
            }
        }
        // If another process starts too, its key may be the one that is kept.
        try SecretFile(path: location.apiKeyFile).create("\(key.serialized)\n")
    }
}
