/// The signals between the chores that take part in removals: each starts the next one when it is done
/// with a page, so that none waits for an interval, and none takes up what another is still at.
package struct RemovalSignals: Sendable {
    /// The removal of tenants and clients has ended sessions.
    let cancellations = WakeSignal()
    /// No session that has ended has further tasks to cancel.
    let erasure = WakeSignal()
    /// Sessions were erased, behind which others may wait.
    let owners = WakeSignal()
    /// The database's clock as those see it who remove what is old: nobody brings that back, so
    /// that a clock that was set ahead is waited out for long.
    let clock = SharedDatabaseClock(patience: RemovalSignals.clockPatience)

    /// The time for which nothing is removed by a clock that was set ahead.
    static let clockPatience: Duration = .seconds(3600)

    /// Creates signals that are not set.
    package init() {}
}
