import ArgumentParser
import Curl
import Glibc
import Hummingbird
import Logging
import ServiceLifecycle
import TransferHTTP
import TransferModel
import TransferWire

/// The command `transferd serve`, which assembles all parts and runs them.
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
        // A receiver that closes early must end a write with an error, not the process.
        signal(SIGPIPE, SIG_IGN)
        ProcessProtection.begin()
        HeapTrimmer.tune()
        var configuration = try ServerConfiguration(database: database, service: service)
        let level = configuration.logLevel
        LoggingSystem.bootstrap { JSONLogHandler(label: $0, level: level) }
        let logger = Logger(label: "transferd")
        try Self.fitDescriptors(&configuration, logger)
        try ThreadLimit.check(transferThreads: configuration.transferThreads)
        try await serve(configuration, logger)
    }

    /// Has clients take no more descriptors than leave enough for the probes and the transfers.
    private static func fitDescriptors(
        _ configuration: inout ServerConfiguration,
        _ logger: Logger
    ) throws(TooFewDescriptors) {
        let limit = DescriptorLimit.raised()
        try limit.check(transferThreads: configuration.transferThreads)
        if limit.transfersMax < configuration.concurrency {
            logger.warning(
                "too few descriptors for the concurrency; raise the hard limit (ulimit -n)",
                metadata: ["limit": "\(limit.count)", "transfers": "\(limit.transfersMax)"]
            )
        }
        let connectionsMax = limit.connectionsMax(
            beside: configuration.concurrency,
            transferThreads: configuration.transferThreads
        )
        guard connectionsMax < configuration.server.bounds.max else { return }
        configuration.server.bounds = configuration.server.bounds.limited(to: connectionsMax)
        logger.warning(
            "too few descriptors for the connections; raise the hard limit (ulimit -n)",
            metadata: ["limit": "\(limit.count)", "connections": "\(connectionsMax)"]
        )
    }

    /// An event that concerns the service as a whole.
    private enum Event: Sendable {
        case stopRequested
        case started(Result<ServiceStart.Parts, any Error>)
        case listening(port: Int)
        /// A part has ended although nothing asked it to.
        case ended((any Error)?)
    }

    private func serve(_ configuration: ServerConfiguration, _ logger: Logger) async throws {
        let (events, event) = AsyncStream<Event>.makeStream()
        let (hangups, hangup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let shutdown = try Self.shutdown(logger, hangup) { event.yield(.stopRequested) }
        let monitor = HealthMonitor()
        let signals = InstanceSignals()
        let handover = configuration.roles.contains(.api) ? APIHandover() : nil
        let connections = ConnectionRegistry(bounds: configuration.server.bounds)
        let metrics = MetricsCollector(monitor: monitor, connections: connections, logger: logger)
        let health = HealthSource(configuration, monitor, signals, metrics)
        let probes = ProbeAPI(
            health: health,
            handover: handover,
            connections: connections,
            counters: metrics.requests,
            logger: logger
        )
        let certificate = try configuration.server.tls?.load()
        let own = OwnEndpoints()
        // This listens before any other part exists, so that whoever watches the process sees it is
        // alive.
        let front = ServiceBlock(
            "requests",
            Self.front(probes, configuration.server, certificate, hangups, logger) {
                own.add(port: $0)
                event.yield(.listening(port: $0))
            },
            logger: logger,
            onEnd: { event.yield(.ended($0)) }
        )
        let start = ServiceStart(
            configuration,
            monitor: monitor,
            signals: signals,
            health: health,
            connections: connections,
            metrics: metrics,
            own: own,
            logger: logger,
            onEnd: { event.yield(.ended($0)) }
        )
        // Unstructured: if the database hangs, this task is abandoned at the end of the grace
        // period.
        let starting = Task {
            do {
                event.yield(.started(.success(try await start.run())))
            } catch {
                event.yield(.started(.failure(error)))
            }
        }
        let failure = await watch(
            events,
            server: configuration.server,
            handover: handover,
            monitor: monitor
        )
        shutdown.begin(status: failure == nil ? EXIT_SUCCESS : EXIT_FAILURE)
        monitor.drain()
        starting.cancel()
        let isWhole = await stop(front, starting, start, answersClients: handover != nil, shutdown)
        if let failure {
            let (host, port) = (configuration.server.host, configuration.server.port)
            throw ListenFailure(failure, host: host, port: port) ?? failure
        }
        // Abandoned work still runs, and must not touch what the end of main tears down.
        if !isWhole { Shutdown.end(EXIT_SUCCESS) }
    }

    /// Handles signals from now on; a SIGHUP is passed on to `hangup`.
    private static func shutdown(
        _ logger: Logger,
        _ hangup: AsyncStream<Void>.Continuation,
        onRequest: @escaping @Sendable () -> Void
    ) throws -> Shutdown {
        try Shutdown(
            grace: ServerConfiguration.shutdownGrace,
            onRequest: onRequest,
            onHangup: {
                logger.notice("SIGHUP ends nothing; a certificate, if there is one, is read again")
                hangup.yield()
            }
        )
    }

    /// Returns the services that listen.
    private static func front(
        _ probes: ProbeAPI,
        _ settings: ServerSettings,
        _ certificate: ServerCertificate?,
        _ hangups: AsyncStream<Void>,
        _ logger: Logger,
        onListening: @escaping @Sendable (Int) -> Void
    ) -> [any Service] {
        let server = probes.application(
            host: settings.host,
            port: settings.port,
            certificate: certificate,
            onServerRunning: onListening
        )
        let watch = certificate.map {
            CertificateWatch(certificate: $0, hangups: hangups, logger: logger)
        }
        return [server] + (watch.map { [$0] } ?? [])
    }

    /// Returns when the service has to stop, with the error that caused it, or nil if it was asked
    /// to.
    private func watch(
        _ events: AsyncStream<Event>,
        server: ServerSettings,
        handover: APIHandover?,
        monitor: HealthMonitor
    ) async -> (any Error)? {
        var port: Int?
        var hasStarted = false
        for await event in events {
            switch event {
            case .stopRequested: return nil
            case .ended(let error): return error ?? ServiceGroupError.serviceFinishedUnexpectedly()
            case .started(.failure(let error)): return error
            case .started(.success(let started)):
                if let api = started.api { handover?.open(api) }
                monitor.started()
                hasStarted = true
            case .listening(let number): port = number
            }
            if let port, hasStarted {
                Announcement(host: server.host, port: port, tls: server.tls != nil).print()
            }
        }
        return nil
    }

    /// Stops the parts one after the other, each within its share of the grace period.
    ///
    /// - Returns: whether everything has ended.
    private func stop(
        _ front: ServiceBlock,
        _ starting: Task<Void, Never>,
        _ start: ServiceStart,
        answersClients: Bool,
        _ shutdown: Shutdown
    ) async -> Bool {
        var isWhole = true
        // An instance that answers clients must accept nothing new; any other answers probes until
        // the end, so that its shutdown can be observed.
        if answersClients { isWhole = await front.stop(by: shutdown.deadline(of: .requests)) }
        let hasStarted = await happens(by: shutdown.deadline(of: .work)) { await starting.value }
        isWhole = isWhole && hasStarted
        if let parts = start.parts {
            for (part, stage) in [(parts.work, Shutdown.Stage.work), (parts.base, .registration)] {
                let isStopped = await part.stop(by: shutdown.deadline(of: stage))
                isWhole = isWhole && isStopped
            }
        }
        if !answersClients {
            let isStopped = await front.stop(by: shutdown.deadline(of: .registration))
            isWhole = isWhole && isStopped
        }
        if let server = start.server {
            let isClosed = await happens(by: shutdown.deadline(of: .database)) {
                await server.close()
            }
            isWhole = isWhole && isClosed
        }
        return isWhole
    }
}

extension HealthSource {
    /// Creates a source that asks the monitor, at any time of the instance's life.
    fileprivate init(
        _ configuration: ServerConfiguration,
        _ monitor: HealthMonitor,
        _ signals: InstanceSignals,
        _ metrics: MetricsCollector
    ) {
        let roles = configuration.roles
        let listens = configuration.signals.listens
        let offersMetrics = configuration.server.offersMetrics
        self.init(
            readiness: { monitor.readiness },
            report: {
                monitor.report(
                    version: Version.current,
                    libcurl: HealthDocument.Library(CurlLoop.libraryVersion),
                    roles: roles,
                    signals: !listens ? .off : signals.isHeard ? .heard : .away
                )
            },
            metrics: { offersMetrics ? metrics.samples() : nil }
        )
    }
}

extension HealthDocument.Library {
    fileprivate init(_ library: CurlLibrary) {
        self.init(
            version: library.version,
            tls: library.tlsVersion,
            features: library.features,
            isHTTP2Sound: library.isHTTP2Sound,
            http2For: [
                ("message", CurlRequest.Traffic.message), ("data", .data),
                ("small_file", .file(size: 0)),
            ]
            .filter { CurlRequest.HTTPVersion.choice(for: $0.1, by: library) == .negotiated }
            .map(\.0)
        )
    }
}
