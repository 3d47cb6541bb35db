package import TransferModel
package import TransferWire

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
