/// The body of `/health`.
package struct HealthDocument: Codable, Sendable {
    /// `pass`; `warn` while tasks wait for what there is too little of, or for the database's clock;
    /// or `fail`.
    package let status: String
    package let version: String
    package let libcurl: Library
    /// What this instance does: `api`, `worker`, `webhooks`.
    package let roles: [String]
    package let database: Component
    /// Whether due times can be told by the database's clock: `fail` from when it was set ahead until
    /// it was set back or has stayed so.
    package let databaseClock: Component
    /// Whether other instances are heard at once: `pass`, `fail` or `off`.
    package let signals: Component
    /// What this instance is short of, so that it begins no task: codes of failures.
    package let shortages: [String]
    package let workers: Int?
    package let uptimeSeconds: Int

    package init(
        status: String,
        version: String,
        libcurl: Library,
        roles: [String],
        database: Component,
        databaseClock: Component,
        signals: Component,
        shortages: [String],
        workers: Int?,
        uptimeSeconds: Int
    ) {
        self.status = status
        self.version = version
        self.libcurl = libcurl
        self.roles = roles
        self.database = database
        self.databaseClock = databaseClock
        self.signals = signals
        self.shortages = shortages
        self.workers = workers
        self.uptimeSeconds = uptimeSeconds
    }

    private enum CodingKeys: String, CodingKey {
        case status, version, libcurl, roles, database, signals, shortages, workers
        case databaseClock = "database_clock"
        case uptimeSeconds = "uptime_seconds"
    }

    /// The linked libcurl.
    package struct Library: Codable, Sendable {
        package let version: String
        /// For example `OpenSSL/3.0.19`; nil without TLS.
        package let tls: String?
        /// As libcurl names them.
        package let features: [String]
        /// Whether its HTTP/2 is relied on.
        package let isHTTP2Sound: Bool
        /// What HTTP/2 is offered for, where the origin has it: `message`, `small_file`.
        package let http2For: [String]

        package init(
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

    /// One thing the service needs.
    package struct Component: Codable, Sendable {
        /// `pass`, `fail`, or `off` for what is not wanted.
        package let status: String
        /// Why it fails, where that is known.
        package let reason: String?

        package init(status: String, reason: String? = nil) {
            self.status = status
            self.reason = reason
        }
    }
}
