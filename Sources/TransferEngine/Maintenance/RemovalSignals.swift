/// The signals between the chores that take part in removals: each starts the next one when it is done
/// with a page, so that none waits for an interval, and none takes up what another is still at.
package struct RemovalSignals: Sendable {
    /// The removal of tenants and clients has ended sessions.
    let cancellations = WakeSignal()
    /// No session that has ended has further tasks to cancel.
    let erasure = WakeSignal()
    /// Sessions were erased, behind which others may wait.
    let owners = WakeSignal()

    /// Creates signals that are not set.
    package init() {}
}
