/// How many requests may wait for events or tasks, and how streams of events behave.
package struct EventReaderBounds: Sendable {
    /// Of one tenant in this instance for events; each holds a connection.
    package var perTenantMax = 100
    /// Of all for events, and as many for tasks; an eighth more is there so that some are free for
    /// whoever comes.
    package var max = 1000
    /// After so long without an event a stream says that it is alive.
    package var heartbeatInterval: Duration = .seconds(15)
    /// After so long in which a client has taken nothing of what was sent, its stream is given up.
    package var writeTimeout: Duration = .seconds(60)

    package init() {}
}
