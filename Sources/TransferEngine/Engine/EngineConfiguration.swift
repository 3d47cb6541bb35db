package import Curl
import PollLoop
package import TransferModel

/// The configuration of a worker: how much it does at once, and how long it waits.
package struct EngineConfiguration: Sendable {
    /// The maximum number of transfers at once, over all hosts.
    package var concurrency = concurrencyDefault
    /// The number of threads that run transfers, each with an equal part of a host's connections.
    package var transferThreads = transferThreadsDefault
    /// The maximum number of connections at once to one host and port, from all workers, unless an
    /// operator has set another number for it.
    package var connectionsPerHost = connectionsPerHostDefault
    /// The time between two heartbeats.
    package var heartbeatInterval = heartbeatIntervalDefault
    /// The time to the next heartbeat after one has failed.
    var heartbeatRetryInterval: Duration { heartbeatInterval / 6 }
    /// The silence after which others take over a worker's attempts; several heartbeats.
    package var lease = leaseDefault
    /// The time for which a heartbeat is relied on: others wait for a whole lease, but clocks
    /// differ and answers take time.
    package var trustDuration: Duration { lease * 4 / 5 }
    /// The interval of the poll that finds work which no signal announced.
    package var pollInterval = pollIntervalDefault
    /// The hours in which tasks of discretionary sessions count like others.
    package var discretionaryHours = WeeklyHours()
    /// The largest file, in bytes.
    package var fileBytesMax = fileBytesMaxDefault
    /// The policy for retrying failed attempts.
    package var retryPolicy = RetryPolicy()
    /// The rules for when a host counts as unreachable.
    var connectivity = HostConnectivity.Settings()
    /// The rules for when a download is worth several connections.
    var segments = Segments.Settings()
    /// The addresses to which connections may be made.
    package var egress: EgressGuard
    /// The `user-agent` of requests whose task names none (RFC 9110 §10.1.5).
    package var userAgent = "transferd"
    /// The URL whose response shows that the network can be reached; nil takes that as given.
    package var networkProbeURL: String?
    /// The operator's word whether the service has room for background tasks that can wait.
    package var capacity = BackgroundSettings.Capacity.idle
    /// The name of this instance in the `worker` table.
    package var workerName = "transferd"

    /// The default number of transfers at once.
    package static let concurrencyDefault = 256
    /// The default number of threads that run transfers: one for each processor, within reason.
    package static let transferThreadsDefault = min(Processors.count, 8)
    /// The default number of connections to one host, that of
    /// `URLSessionConfiguration.httpMaximumConnectionsPerHost` on a phone; just as polite on a
    /// server.
    package static let connectionsPerHostDefault = 6
    /// The default time between two heartbeats.
    package static let heartbeatIntervalDefault: Duration = .seconds(3)
    /// The default silence after which others take over a worker's attempts.
    package static let leaseDefault: Duration = .seconds(10)
    /// The default interval of the poll.
    package static let pollIntervalDefault: Duration = .seconds(1)
    /// The default size limit of a file, in bytes.
    package static let fileBytesMaxDefault: Int64 = 1 << 40
    /// The number of deaths in a row, without progress, after which a task is given up as one that
    /// kills its workers.
    static let deathsMax = 5
    /// The longest interval at which progress is stored and revocations are looked for.
    static let tickInterval: Duration = .milliseconds(500)
    /// The interval at which a worker checks its share of the hosts.
    static let shardsPollInterval: Duration = .seconds(1)
    /// The shortest interval between such checks when there is other work; less than the shortest
    /// time between two polls.
    static let shardsInterval: Duration = .milliseconds(750)
    /// The interval after one that failed, while the worker claims from the shards that it has.
    static let shardsRetryInterval: Duration = .seconds(3)
    /// The time for which ended assertions are kept, so that a second end finds them.
    static let assertionRetention: Duration = .seconds(24 * 3600)
    /// The time for which ended runs are kept.
    static let runRetention: Duration = .seconds(30 * 24 * 3600)
    /// The number of attempts ended but not yet stored beyond which no further task is claimed.
    static let backlogMax = 4096

    /// Creates a configuration with the defaults for everything else.
    package init(egress: EgressGuard) { self.egress = egress }
}
