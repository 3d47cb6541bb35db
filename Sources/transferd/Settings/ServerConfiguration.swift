import Foundation
import Glibc
import Logging
import Postgres
import TransferEngine
import TransferHTTP
import TransferModel
import TransferStore

/// Everything that can be set, read and checked once at the start.
struct ServerConfiguration: Sendable {
    /// How long a stopping service waits for what is on its way.
    static let shutdownGrace: Duration = .seconds(15)

    let database: DatabaseLocation
    /// What this instance does.
    let roles: Set<InstanceRole>
    let signals: SignalSettings
    /// How often it looks for what no signal told of.
    let pollInterval: Duration
    let server: ServerSettings
    let concurrency: Int
    let connectionsPerHost: Int
    let discretionaryHours: WeeklyHours
    let fileBytesMax: Int64
    let retention: RetentionSettings
    /// Waiting tasks beyond which none is taken.
    let queueMax: Int64
    let egress: EgressPolicy
    /// Nil for the data directory's, which a private cluster makes at its first start.
    let secretsKeyFile: String?
    let logLevel: Logger.Level

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
        server = ServerSettings(service, &reader)
        concurrency = reader.number(
            service.concurrency,
            "TRANSFERD_CONCURRENCY",
            in: 1...10_000,
            default: EngineConfiguration.concurrencyDefault
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
        let networks =
            service.allowNetwork
            + (reader.text(nil, "TRANSFERD_ALLOW_NETWORKS") ?? "")
            .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        egress = EgressPolicy(
            allowed: networks.compactMap { reader.network($0) }
        )
        secretsKeyFile = reader.text(service.secretsKeyFile, "TRANSFERD_SECRETS_KEY_FILE")
        logLevel = reader.word(service.logLevel, "TRANSFERD_LOG_LEVEL", default: .info)
        if !reader.problems.isEmpty { throw ConfigurationError(problems: reader.problems) }
    }
}
