import Foundation
import Glibc
import Logging
import Postgres
import TransferEngine
import TransferHTTP
import TransferModel
import TransferStore

/// All settings, read and checked once at the start.
struct ServerConfiguration: Sendable {
    /// The time that a stopping service waits for work in progress.
    static let shutdownGrace: Duration = .seconds(15)

    let database: DatabaseLocation
    /// The roles of this instance.
    let roles: Set<InstanceRole>
    let signals: SignalSettings
    /// The interval of looking for work that no signal has announced.
    let pollInterval: Duration
    var server: ServerSettings
    let concurrency: Int
    let transferThreads: Int
    let connectionsPerHost: Int
    let discretionaryHours: WeeklyHours
    /// The URL whose response shows that the network can be reached; nil takes that as given.
    let networkProbeURL: String?
    /// The operator's word whether there is room for background tasks that can wait.
    let capacity: BackgroundSettings.Capacity
    let fileBytesMax: Int64
    let retention: RetentionSettings
    /// The number of waiting tasks beyond which no more are accepted.
    let queueMax: Int64
    let egress: EgressPolicy
    /// The proxy through which requests leave; nil for none.
    let egressProxy: EgressProxy?
    /// The file of the secrets key; nil for the one in the data directory, which a private cluster
    /// creates at its first start.
    let secretsKeyFile: String?
    /// Whether secrets have to be sealed.
    let secretsMode: SecretsMode
    let logLevel: Logger.Level

    /// Reads and checks the settings.
    ///
    /// - Throws: ``ConfigurationError`` with every problem found.
    init(
        database: DatabaseOptions,
        service: ServiceOptions,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationError) {
        var reader = SettingsReader(environment: environment)
        self.database = DatabaseLocation(database, &reader)
        roles = reader.words(
            service.roles,
            "TRANSFERD_ROLES",
            default: Set(InstanceRole.allCases)
        )
        signals = SignalSettings(service, self.database, &reader)
        pollInterval = .seconds(
            reader.number(
                service.pollInterval,
                "TRANSFERD_POLL_INTERVAL",
                in: 1...3600,
                default: EngineConfiguration.pollIntervalDefault.components.seconds
            )
        )
        server = ServerSettings(service, isAPI: roles.contains(.api), &reader)
        concurrency = reader.number(
            service.concurrency,
            "TRANSFERD_CONCURRENCY",
            in: 1...10_000,
            default: EngineConfiguration.concurrencyDefault
        )
        transferThreads = reader.number(
            service.transferThreads,
            "TRANSFERD_TRANSFER_THREADS",
            in: 1...64,
            default: EngineConfiguration.transferThreadsDefault
        )
        connectionsPerHost = reader.number(
            service.connectionsPerHost,
            "TRANSFERD_CONNECTIONS_PER_HOST",
            in: 1...1000,
            default: EngineConfiguration.connectionsPerHostDefault
        )
        discretionaryHours = reader.hours(
            service.discretionaryHours,
            "TRANSFERD_DISCRETIONARY_HOURS"
        )
        networkProbeURL = reader.webURL(service.networkProbeURL, "TRANSFERD_NETWORK_PROBE_URL")
        capacity = reader.word(service.capacity, "TRANSFERD_CAPACITY", default: .idle)
        fileBytesMax = reader.number(
            service.fileBytesMax,
            "TRANSFERD_FILE_BYTES_MAX",
            in: 1...Int64.max,
            default: EngineConfiguration.fileBytesMaxDefault
        )
        retention = RetentionSettings(service, &reader)
        queueMax = reader.number(
            service.queueMax,
            "TRANSFERD_QUEUE_MAX",
            in: 1...Int64.max,
            default: StoreSettings.queueMaxDefault
        )
        egress = EgressPolicy(service, &reader)
        egressProxy = EgressProxy(service, &reader)
        secretsKeyFile = reader.text(service.secretsKeyFile, "TRANSFERD_SECRETS_KEY_FILE")
        secretsMode = reader.word(service.secrets, "TRANSFERD_SECRETS", default: .sealed)
        logLevel = reader.word(service.logLevel, "TRANSFERD_LOG_LEVEL", default: .info)
        if !reader.problems.isEmpty { throw ConfigurationError(problems: reader.problems) }
    }
}
