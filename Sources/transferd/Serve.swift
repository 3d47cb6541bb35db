import ArgumentParser
import Curl
import Foundation
import Glibc
import Hummingbird
import Logging
import Postgres
import ServiceLifecycle
import TransferContainer
import TransferEngine
import TransferHTTP
import TransferModel
import TransferSecrets
import TransferStore
import TransferWebhooks
import TransferWire
import UnixSignals

/// `transferd serve`: puts all parts together and runs them.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the service.",
        discussion: """
            Prints one line of JSON with the address when it accepts requests; logs are JSON \
            lines on standard error.
            """
    )

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let configuration = try ServerConfiguration(database: database, service: service)
        let level = configuration.logLevel
        LoggingSystem.bootstrap { JSONLogHandler(label: $0, level: level) }
        let logger = Logger(label: "transferd")
        let limit = DescriptorLimit.raised()
        if limit.transfersMax < configuration.concurrency {
            logger.warning(
                "too few descriptors for the concurrency; raise the hard limit (ulimit -n)",
                metadata: ["limit": "\(limit.count)", "transfers": "\(limit.transfersMax)"]
            )
        }
        // A receiver that closes early must end a write with an error, not the process.
        signal(SIGPIPE, SIG_IGN)
        let database = try await Database.open(configuration.database, logger: logger)
        do {
            try await serve(configuration, database, logger)
        } catch {
            await database.close()
            throw error
        }
        await database.close()
    }

    private func serve(
        _ configuration: ServerConfiguration,
        _ database: Database,
        _ logger: Logger
    ) async throws {
        try await database.migrate(logger: logger)
        let pool = ConnectionPool(configuration: database.configuration, loop: database.loop)
        let store = TransferStore(pool: pool)
        let monitor = HealthMonitor(store: store, logger: logger) {
            try await database.revive(logger: logger)
        }
        try await writeFirstKey(database.location, store)
        let secrets = try SecretsKeyFile(configuration).box(logger: logger)
        let pruner = Pruner(store: store, retention: configuration.eventsRetention, logger: logger)
        do {
            try await pruner.makePartitions()
        } catch {
            // It is tried again while the service runs, which can do without them.
            logger.warning("no partitions of events made", metadata: ["error": "\(error)"])
        }
        let watch = NewsWatch(store: store)
        let parts = try await Parts(
            configuration,
            store: store,
            watch: watch,
            secrets: secrets,
            logger: logger
        )
        let location = database.location
        let api = TransferAPI(
            store: store,
            container: parts.container,
            secrets: secrets,
            uploadBytesMax: configuration.fileBytesMax,
            baseURL: configuration.publicURL,
            egress: configuration.egress,
            health: HealthSource(
                readiness: { monitor.readiness },
                report: {
                    monitor.report(
                        version: Version.current,
                        libcurl: HealthDocument.Library(CurlLoop.libraryVersion)
                    )
                }
            ),
            watch: watch,
            wake: { parts.wake() },
            sendTest: { await parts.dispatcher.sendTest(of: $0, to: $1) },
            openAPIDocument: Array(
                try Data(contentsOf: URL(fileURLWithPath: location.openAPIDocument))
            ),
            logger: logger
        )
        let host = configuration.host
        let application = api.application(host: host, port: configuration.port) { port in
            Announcement(host: host, port: port).print()
        }
        var group = ServiceGroupConfiguration(
            // Stopped from the last to the first: requests, transfers, webhooks, then the lease
            // and the connections that they stand on.
            services: [
                PoolService(pool: pool), parts.leaseKeeper, pruner, parts.dispatcher, parts.engine,
                monitor, application,
            ],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = ServerConfiguration.shutdownGrace
        group.maximumCancellationDuration = .seconds(5)
        try await ServiceGroup(configuration: group).run()
    }

    /// Makes a key at the first start of a private cluster, where nobody could have made one.
    private func writeFirstKey(_ location: DatabaseLocation, _ store: TransferStore) async throws {
        guard location.url == nil,
            !FileManager.default.fileExists(atPath: location.apiKeyFile)
        else { return }
        let key = APIKey.generate()
        _ = try await store.createAPIKey(
            id: key.id,
            tenantName: Keys.tenantDefault,
            secretSHA256: key.secretSHA256,
            name: "first start"
        )
        try SecretFile(path: location.apiKeyFile).write("\(key.serialized)\n")
    }
}

/// The parts that run tasks and tell of them.
private struct Parts: Sendable {
    let engine: TransferEngine
    let dispatcher: WebhookDispatcher
    let leaseKeeper: LeaseKeeper
    let container: Container
    private let watch: NewsWatch

    init(
        _ configuration: ServerConfiguration,
        store: TransferStore,
        watch: NewsWatch,
        secrets: SecretBox?,
        logger: Logger
    ) async throws {
        let policy = configuration.egress
        let egress = EgressGuard { policy.allows($0.bytes) }
        var settings = EngineConfiguration(egress: egress)
        settings.concurrency = configuration.concurrency
        settings.connectionsPerHost = configuration.connectionsPerHost
        settings.fileBytesMax = configuration.fileBytesMax
        settings.workerName = "\(ProcessInfo.processInfo.hostName):\(getpid())"
        let identity = WorkerIdentity(
            incarnation: try await store.registerWorker(name: settings.workerName)
        )
        // Origins and subscribers never share connections.
        let dispatcher = WebhookDispatcher(
            store: store,
            worker: identity,
            curl: try CurlLoop(name: "webhooks"),
            egress: egress,
            linkBase: configuration.publicURL,
            version: Version.current,
            logger: logger
        )
        self.dispatcher = dispatcher
        self.watch = watch
        container = try Container(directory: configuration.database.containers)
        let engine = try TransferEngine(
            store: store,
            identity: identity,
            container: container,
            // Room for transfers that are ending while others take their slots.
            curl: CurlLoop(name: "transfers", connectionsMax: 2 * configuration.concurrency),
            secrets: secrets,
            configuration: settings,
            logger: logger,
            onEvents: {
                dispatcher.signal()
                watch.signal()
            }
        )
        self.engine = engine
        leaseKeeper = LeaseKeeper(
            store: store,
            identity: identity,
            configuration: settings,
            logger: logger,
            onDeclaredDead: { engine.dropAttempts() }
        )
    }

    func wake() {
        engine.wake()
        dispatcher.signal()
        watch.signal()
    }
}

extension HealthDocument.Library {
    fileprivate init(_ library: CurlLibrary) {
        self.init(
            version: library.version,
            tls: library.tlsVersion,
            features: library.features,
            isHTTP2Sound: library.isHTTP2Sound,
            http2For: [("message", CurlRequest.Traffic.message), ("small_file", .file(size: 0))]
                .filter { CurlRequest.HTTPVersion.choice(for: $0.1, by: library) == .negotiated }
                .map(\.0)
        )
    }
}
