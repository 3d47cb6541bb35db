package import TransferModel
package import TransferWire

/// The health of an instance, as reported to monitors.
package struct HealthReport: Sendable {
    /// The seconds by which an instance's clock may differ from the database's without a warning: a
    /// tenth of the time for which receivers accept a signature.
    package static let clockDifferenceMax: Double = 30

    /// The version of the program.
    package let version: String
    /// The linked libcurl.
    package let libcurl: HealthDocument.Library
    /// The roles of the instance.
    package let roles: Set<InstanceRole>
    /// Whether the database answers.
    package let isDatabaseUp: Bool
    /// Whether the database refuses changes because it has no space left.
    package let isDatabaseFull: Bool
    /// Whether the database fails to store how attempts have ended or to give out tasks, for a
    /// reason of its own, or to end any commit.
    package let isDatabaseFailing: Bool
    /// The reason why the database is down or refuses changes, in a few words without secrets.
    package let databaseReason: String?
    /// Whether changes made by other instances are learnt of at once.
    package let signals: SignalStatus
    /// The number of seconds by which the database's clock was set ahead; nil when it was not, when
    /// the clock is followed, or when it does not matter here.
    package let databaseClockAhead: Double?
    /// The seconds by which the instance's clock is ahead of the database's, negative if it is
    /// behind; nil while the database does not tell.
    package let clockDifference: Double?
    /// The resources that the instance is short of, so that all or some of its tasks wait.
    package let shortages: [Shortage]
    /// The numbers of pauses.
    package let pauses: PauseCounts
    /// The number of workers that are registered and alive; nil while the database does not tell.
    package let workers: Int?
    /// The time since the instance started.
    package let uptime: Duration

    package init(
        version: String,
        libcurl: HealthDocument.Library,
        roles: Set<InstanceRole>,
        isDatabaseUp: Bool,
        isDatabaseFull: Bool = false,
        isDatabaseFailing: Bool = false,
        databaseReason: String? = nil,
        signals: SignalStatus,
        databaseClockAhead: Double? = nil,
        clockDifference: Double? = nil,
        shortages: [Shortage] = [],
        pauses: PauseCounts = PauseCounts(),
        workers: Int?,
        uptime: Duration
    ) {
        self.version = version
        self.libcurl = libcurl
        self.roles = roles
        self.isDatabaseUp = isDatabaseUp
        self.isDatabaseFull = isDatabaseFull
        self.isDatabaseFailing = isDatabaseFailing
        self.databaseReason = databaseReason
        self.signals = signals
        self.databaseClockAhead = databaseClockAhead
        self.clockDifference = clockDifference
        self.shortages = shortages
        self.pauses = pauses
        self.workers = workers
        self.uptime = uptime
    }
}
