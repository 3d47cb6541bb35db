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
    static let hostDefault = "127.0.0.1"
    static let portDefault = 8080
    static let resultsRetentionDefaultInDays = 7
    static let resultsRetentionRangeInDays = 1...3650
    static let sessionsRetentionDefaultInDays = 30
    static let sessionsRetentionRangeInDays = 1...3650
    /// How long a stopping service waits for what is on its way.
    static let shutdownGrace: Duration = .seconds(15)

    let database: DatabaseLocation
    /// What this instance does.
    let roles: Set<InstanceRole>
    /// Whether it tells other instances at once what it did, and hears them.
    let listen: ListenMode
    /// Past a pooler; nil for the database's own; may hold a password and is never logged.
    let listenDatabaseURL: String?
    /// How often it looks for what no signal told of.
    let pollInterval: Duration
    let host: String
    let port: Int
    /// The service's address as clients know it, without a slash at its end.
    let publicURL: String?
    /// Connections of clients.
    let connectionsMax: Int
    /// Of those, connections of one address.
    let connectionsPerAddress: Int
    let concurrency: Int
    let connectionsPerHost: Int
    let discretionaryHours: WeeklyHours
    let fileBytesMax: Int64
    /// How long events are kept at least.
    let eventsRetention: Duration
    /// How long ended attempts are kept at least.
    let attemptsRetention: Duration
    /// How long ended tasks are kept whose session does not say.
    let resultsRetention: Duration
    /// How long ended sessions and deleted subscriptions are kept at least.
    let sessionsRetention: Duration
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
        listen = reader.word(service.listen, "TRANSFERD_LISTEN", default: .on)
        listenDatabaseURL = reader.text(
            service.listenDatabaseURL,
            "TRANSFERD_LISTEN_DATABASE_URL"
        )
        if let listenDatabaseURL,
            !ConnectionConfiguration(url: listenDatabaseURL).isReadable
        {
            reader.refuse(
                "TRANSFERD_LISTEN_DATABASE_URL: is neither a postgres:// URL nor keywords as libpq "
                    + "has them"
            )
        }
        if self.database.pooler == .transaction, listen == .on, listenDatabaseURL == nil {
            reader.refuse(
                "TRANSFERD_LISTEN: a pooler that shares connections hears nothing, so that it takes "
                    + "TRANSFERD_LISTEN_DATABASE_URL, past the pooler, or off"
            )
        }
        pollInterval = .seconds(
            reader.number(
                service.pollInterval,
                "TRANSFERD_POLL_INTERVAL",
                in: 1...3600,
                default: EngineConfiguration.pollIntervalDefault.components.seconds
            )
        )
        host = reader.text(service.host, "TRANSFERD_HOST") ?? Self.hostDefault
        port = reader.number(
            service.port,
            "TRANSFERD_PORT",
            in: 0...65_535,
            default: Self.portDefault
        )
        publicURL = reader.baseURL(service.publicURL, "TRANSFERD_PUBLIC_URL")
        connectionsMax = reader.number(
            service.connectionsMax,
            "TRANSFERD_CONNECTIONS_MAX",
            in: ConnectionBounds.maxRange,
            default: ConnectionBounds.maxDefault
        )
        connectionsPerAddress = reader.number(
            service.connectionsPerAddress,
            "TRANSFERD_CONNECTIONS_PER_ADDRESS",
            in: 1...ConnectionBounds.maxRange.upperBound,
            default: ConnectionBounds(max: connectionsMax).perAddressMax
        )
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
        let days = reader.number(
            service.eventsRetention,
            "TRANSFERD_EVENTS_RETENTION",
            in: Pruner.retentionRangeInDays,
            default: Pruner.retentionDefaultInDays
        )
        eventsRetention = .seconds(days * 24 * 3600)
        let attemptDays = reader.number(
            service.attemptsRetention,
            "TRANSFERD_ATTEMPTS_RETENTION",
            in: Pruner.retentionRangeInDays,
            default: Pruner.retentionDefaultInDays
        )
        attemptsRetention = .seconds(attemptDays * 24 * 3600)
        let resultDays = reader.number(
            service.resultsRetention,
            "TRANSFERD_RESULTS_RETENTION",
            in: Self.resultsRetentionRangeInDays,
            default: Self.resultsRetentionDefaultInDays
        )
        resultsRetention = .seconds(resultDays * 24 * 3600)
        let sessionDays = reader.number(
            service.sessionsRetention,
            "TRANSFERD_SESSIONS_RETENTION",
            in: Self.sessionsRetentionRangeInDays,
            default: Self.sessionsRetentionDefaultInDays
        )
        sessionsRetention = .seconds(sessionDays * 24 * 3600)
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
