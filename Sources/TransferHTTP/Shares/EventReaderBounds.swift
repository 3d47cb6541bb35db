/// The limits on requests that wait for events or tasks, and the times of event streams.
package struct EventReaderBounds: Sendable {
    /// The maximum number for events of one tenant in this instance; each holds a connection.
    package var perTenantMax = 100
    /// The maximum number of all for events, and also for tasks; an eighth more is reserved so that
    /// some are free for newcomers.
    package var max = 1000
    /// The time without an event after which a stream sends a comment.
    package var heartbeatInterval: Duration = .seconds(15)
    /// The time in which a client takes nothing of what was sent, after which its stream is given
    /// up.
    package var writeTimeout: Duration = .seconds(60)

    package init() {}
}
