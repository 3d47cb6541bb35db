package import Foundation

/// What the chores that take part in removals share.
///
/// By the signals each starts the next one when it is done with a page, so that none waits for an
/// interval, and none takes up what another is still at.
package struct Removals: Sendable {
    /// The removal of tenants and clients has ended sessions.
    let cancellations = WakeSignal()
    /// No session that has ended has further tasks to cancel.
    let erasure = WakeSignal()
    /// Sessions were erased, behind which others may wait.
    let owners = WakeSignal()
    /// The database's clock as those see it who remove what is old: nobody brings that back, so
    /// that a clock that was set ahead is waited out for long.
    let clock = SharedDatabaseClock(patience: Removals.clockPatience)

    /// The time for which nothing is removed by a clock that was set ahead.
    static let clockPatience: Duration = .seconds(3600)

    /// The latest date that ``clock`` believes of the database's; nil before it was read.
    package var latestDate: Date? { clock.latest }

    /// Creates signals that are not set, and a clock that was not read.
    package init() {}
}
