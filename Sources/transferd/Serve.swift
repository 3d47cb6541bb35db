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
        HeapTrimmer.tune()
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
        try await database.migrate(past: configuration.listenDatabaseURL, logger: logger)
        let pool = ConnectionPool(configuration: database.configuration, loop: database.loop)
        var settings = StoreSettings()
        settings.resultRetention = configuration.resultsRetention
        settings.queueMax = configuration.queueMax
        let store = TransferStore(pool: pool, settings: settings)
        let roles = configuration.roles
        let container =
            roles.contains(.api) || roles.contains(.worker)
            ? try Container(directory: configuration.database.containers) : nil
        let monitor = HealthMonitor(store: store, logger: logger) {
            try await database.revive(logger: logger)
        }
        try await writeFirstKey(database.location, store)
        let secrets = try SecretsKeyFile(configuration).box(logger: logger)
        let pruner = try container.map { container in
            try Pruner(
                store: store,
                container: container,
                retention: Pruner.Retention(
                    events: configuration.eventsRetention,
                    attempts: configuration.attemptsRetention
                ),
                logger: logger
            )
        }
        do {
            try await pruner?.makePartitions()
        } catch {
            // It is tried again while the service runs, which can do without them.
            logger.warning("no partitions made", metadata: ["error": "\(error)"])
        }
        let signals = InstanceSignals()
        let relay =
            configuration.listen == .on
            ? relay(configuration, database, signals, logger) : nil
        let instance = try await Instance(
            configuration,
            store: store,
            container: container,
            secrets: secrets,
            pruner: pruner,
            signals: signals,
            logger: logger
        )
        let health = HealthSource(
            readiness: { monitor.readiness },
            report: {
                monitor.report(
                    version: Version.current,
                    libcurl: HealthDocument.Library(CurlLoop.libraryVersion),
                    roles: roles,
                    signals: relay.map { $0.isConnected ? .heard : .away } ?? .off
                )
            }
        )
        let host = configuration.host
        let port = configuration.port
        let announce: @Sendable (Int) async -> Void = { port in
            Announcement(host: host, port: port).print()
        }
        // Stopped from the last to the first: requests, transfers, webhooks, then the lease and the
        // connections that they stand on.
        var services: [any Service] = [PoolService(pool: pool), HeapTrimmer()]
        if let relay { services.append(RelayService(relay: relay)) }
        services.append(TaskCounter(store: store, logger: logger))
        if roles.contains(.api), let container {
            let watch = NewsWatch(store: store, logger: logger)
            signals.add { if $0.contains(.events) { watch.signal() } }
            let api = TransferAPI(
                store: store,
                container: container,
                secrets: secrets,
                uploadBytesMax: configuration.fileBytesMax,
                baseURL: configuration.publicURL,
                egress: configuration.egress,
                health: health,
                watch: watch,
                connections: ConnectionBounds(
                    max: configuration.connectionsMax,
                    perAddressMax: configuration.connectionsPerAddress
                ),
                wake: { signals.tell(Set(Signal.allCases)) },
                sendTest: { await instance.sender.sendTest(of: $0, to: $1) },
                openAPIDocument: Array(
                    try Data(contentsOf: URL(fileURLWithPath: database.location.openAPIDocument))
                ),
                logger: logger
            )
            services += instance.services
            services += [
                monitor, api.application(host: host, port: port, onServerRunning: announce),
            ]
        } else {
            let probes = ProbeAPI(health: health, logger: logger)
            // Here they answer to the end, so that it can be watched how the instance stops.
            services += [
                probes.application(host: host, port: port, onServerRunning: announce), monitor,
            ]
            services += instance.services
        }
        services.append(DrainService(monitor: monitor))
        var group = ServiceGroupConfiguration(
            // By default each is named in the log by all that is in it, settings and all.
            services: services.map {
                ServiceGroupConfiguration.ServiceConfiguration(
                    service: $0,
                    serviceName: "\(type(of: $0))"
                )
            },
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = ServerConfiguration.shutdownGrace
        group.maximumCancellationDuration = .seconds(5)
        try await ServiceGroup(configuration: group).run()
    }

    /// Tells the others what the parts of this instance tell each other, and the other way round.
    private func relay(
        _ configuration: ServerConfiguration,
        _ database: Database,
        _ signals: InstanceSignals,
        _ logger: Logger
    ) -> SignalRelay {
        let connection = database.signalConfiguration(configuration.listenDatabaseURL)
        let relay = SignalRelay(
            logger: logger,
            connect: { () async throws(PostgresError) in
                try await Connection.open(connection, on: database.loop)
            },
            onSignals: { signals.hear($0) }
        )
        signals.add(relay)
        return relay
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
        // Where another process starts too, its key may be the one that is kept.
        try SecretFile(path: location.apiKeyFile).create("\(key.serialized)\n")
    }
}

/// Says at the first moment of a shutdown that the instance takes nothing more.
private struct DrainService: Service {
    let monitor: HealthMonitor

    func run() async throws {
        // Ends by cancellation too, which is no less a shutdown.
        try? await gracefulShutdown()
        monitor.drain()
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
