/// The body of `/health`.
package struct HealthDocument: Codable, Sendable {
    /// `pass` or `fail`.
    package let status: String
    package let version: String
    package let libcurl: String
    package let database: Component
    package let workers: Int?
    package let uptimeSeconds: Int

    package init(
        status: String,
        version: String,
        libcurl: String,
        database: Component,
        workers: Int?,
        uptimeSeconds: Int
    ) {
        self.status = status
        self.version = version
        self.libcurl = libcurl
        self.database = database
        self.workers = workers
        self.uptimeSeconds = uptimeSeconds
    }

    private enum CodingKeys: String, CodingKey {
        case status, version, libcurl, database, workers
        case uptimeSeconds = "uptime_seconds"
    }

    /// One thing the service needs.
    package struct Component: Codable, Sendable {
        /// `pass` or `fail`.
        package let status: String

        package init(status: String) { self.status = status }
    }
}

/// The body of `/livez` and `/readyz`.
package struct ProbeDocument: Codable, Sendable {
    /// `pass` or `fail`.
    package let status: String
    /// Why it is not ready.
    package let reason: String?

    package init(status: String, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }
}
