package import TransferModel
package import TransferWire

/// Whether the service can take work now.
package enum Readiness: Equatable, Sendable {
    case ready
    /// The reason is for operators: a few words, no secrets.
    case notReady(reason: String)
}

/// Whether this instance hears at once what others do.
package enum SignalStatus: String, CaseIterable, Sendable {
    case heard = "pass"
    /// The connection is away; polls find everything.
    case away = "fail"
    /// Its operator wants polls alone.
    case off
}

/// What monitors are told.
package struct HealthReport: Sendable {
    /// Of the program.
    package let version: String
    package let libcurl: HealthDocument.Library
    /// What the instance does.
    package let roles: Set<InstanceRole>
    package let isDatabaseUp: Bool
    /// Why it is not, in a few words without secrets.
    package let databaseReason: String?
    package let signals: SignalStatus
    /// By how many seconds the database's clock was set ahead; nil when it was not, is followed, or
    /// does not matter here.
    package let databaseClockAhead: Double?
    /// What the instance is short of, so that it claims no task.
    package let shortages: [Shortage]
    /// Registered and alive; nil while the database does not tell.
    package let workers: Int?
    package let uptime: Duration

    package init(
        version: String,
        libcurl: HealthDocument.Library,
        roles: Set<InstanceRole>,
        isDatabaseUp: Bool,
        databaseReason: String? = nil,
        signals: SignalStatus,
        databaseClockAhead: Double? = nil,
        shortages: [Shortage] = [],
        workers: Int?,
        uptime: Duration
    ) {
        self.version = version
        self.libcurl = libcurl
        self.roles = roles
        self.isDatabaseUp = isDatabaseUp
        self.databaseReason = databaseReason
        self.signals = signals
        self.databaseClockAhead = databaseClockAhead
        self.shortages = shortages
        self.workers = workers
        self.uptime = uptime
    }
}

/// Where the health routes ask; both answers are bounded in time by the one who gives them.
package struct HealthSource: Sendable {
    package let readiness: @Sendable () async -> Readiness
    package let report: @Sendable () async -> HealthReport

    package init(
        readiness: @escaping @Sendable () async -> Readiness,
        report: @escaping @Sendable () async -> HealthReport
    ) {
        self.readiness = readiness
        self.report = report
    }
}
