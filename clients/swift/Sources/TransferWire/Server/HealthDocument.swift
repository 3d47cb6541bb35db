/// The body of `/health`.
public struct HealthDocument: Codable, Sendable {
    /// The status: `pass`; `warn` while tasks wait for a scarce resource or the database's clock,
    /// while everything is paused, while the database is full, or fails to give out or to end
    /// tasks, or while the instance's clock is far from the database's; or `fail`.
    public let status: String
    /// The version of the program.
    public let version: String
    /// The linked libcurl.
    public let libcurl: Library
    /// The roles of this instance: `api`, `worker`, `webhooks`.
    public let roles: [String]
    /// The state of the database.
    public let database: Component
    /// The state of the database's clock for due times: `fail` from when it was set ahead until it
    /// was set back or has stayed so.
    public let databaseClock: Component
    /// How far the instance's clock is from the database's.
    public let clock: InstanceClock
    /// The state of signals from other instances: `pass`, `fail` or `off`.
    public let signals: Component
    /// The codes of failures for the resources that this instance is short of, so that all or some
    /// of its tasks wait.
    public let shortages: [String]
    /// What is paused, so that it begins no task.
    public let pauses: Pauses
    /// The number of workers that are registered and alive; nil while the database does not tell.
    public let workers: Int?
    /// The seconds since the instance started.
    public let uptimeSeconds: Int

    /// Creates the value from its parts.
    public init(
        status: String,
        version: String,
        libcurl: Library,
        roles: [String],
        database: Component,
        databaseClock: Component,
        clock: InstanceClock,
        signals: Component,
        shortages: [String],
        pauses: Pauses,
        workers: Int?,
        uptimeSeconds: Int
    ) {
        self.status = status
        self.version = version
        self.libcurl = libcurl
        self.roles = roles
        self.database = database
        self.databaseClock = databaseClock
        self.clock = clock
        self.signals = signals
        self.shortages = shortages
        self.pauses = pauses
        self.workers = workers
        self.uptimeSeconds = uptimeSeconds
    }

    private enum CodingKeys: String, CodingKey {
        case status, version, libcurl, roles, database, clock, signals, shortages, pauses, workers
        case databaseClock = "database_clock"
        case uptimeSeconds = "uptime_seconds"
    }

    /// The numbers of pauses.
    public struct Pauses: Codable, Sendable {
        /// Whether nothing begins at all.
        public let everything: Bool
        /// The number of paused tenants.
        public let tenants: Int
        /// The number of paused hosts, each counted for each tenant that it is paused for.
        public let hosts: Int

        /// Creates the value from its parts.
        public init(everything: Bool, tenants: Int, hosts: Int) {
            self.everything = everything
            self.tenants = tenants
            self.hosts = hosts
        }
    }

    /// The linked libcurl.
    public struct Library: Codable, Sendable {
        /// The version of libcurl.
        public let version: String
        /// The TLS library, such as `OpenSSL/3.0.19`; nil without TLS.
        public let tls: String?
        /// The features, as libcurl names them.
        public let features: [String]
        /// Whether this library's HTTP/2 is relied on.
        public let isHTTP2Sound: Bool
        /// The uses for which HTTP/2 is offered, where the origin has it: `message`, `data`,
        /// `small_file`.
        public let http2For: [String]

        /// Creates the value from its parts.
        public init(
            version: String,
            tls: String?,
            features: [String],
            isHTTP2Sound: Bool,
            http2For: [String]
        ) {
            self.http2For = http2For
            self.version = version
            self.tls = tls
            self.features = features
            self.isHTTP2Sound = isHTTP2Sound
        }

        private enum CodingKeys: String, CodingKey {
            case version, tls, features
            case isHTTP2Sound = "is_http2_sound"
            case http2For = "http2_for"
        }
    }

    /// The clock of the instance, by which webhooks are signed, beside that of the database.
    public struct InstanceClock: Codable, Sendable {
        /// The status: `pass`, or `warn` if they differ by more than 30 seconds.
        public let status: String
        /// The whole seconds by which it is ahead, negative if it is behind; nil while the database
        /// does not tell.
        public let seconds: Int?
        /// Which of them is ahead, if they differ too much.
        public let reason: String?

        /// Creates the value from its parts.
        public init(status: String, seconds: Int? = nil, reason: String? = nil) {
            self.status = status
            self.seconds = seconds
            self.reason = reason
        }
    }

    /// One component that the service needs.
    public struct Component: Codable, Sendable {
        /// The status: `pass`, `fail`, or `off` for a component that is not wanted.
        public let status: String
        /// The reason why it fails, where that is known.
        public let reason: String?

        /// Creates the value from its parts.
        public init(status: String, reason: String? = nil) {
            self.status = status
            self.reason = reason
        }
    }
}
