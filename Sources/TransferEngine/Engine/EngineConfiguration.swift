package import Curl
package import TransferModel

/// How much a worker does at once, and how long it waits for what.
package struct EngineConfiguration: Sendable {
    /// Transfers at once over all hosts.
    package var concurrency = concurrencyDefault
    /// Connections at once to one host and port, from all workers, unless an operator has set
    /// another number for it.
    package var connectionsPerHost = connectionsPerHostDefault
    /// Time between two signs of life.
    package var heartbeatInterval = heartbeatIntervalDefault
    /// Time to the next sign of life when one could not be given.
    var heartbeatRetryInterval: Duration { heartbeatInterval / 6 }
    /// Silence after which others take a worker's attempts over; several heartbeats.
    package var lease = leaseDefault
    /// How long a sign of life is relied on: others wait for a whole lease, but clocks differ, and
    /// answers take time.
    var trustDuration: Duration { lease * 4 / 5 }
    /// The poll that finds work which no signal told of.
    package var pollInterval = pollIntervalDefault
    /// When tasks of discretionary sessions count like others.
    package var discretionaryHours = WeeklyHours()
    /// The largest file, in bytes.
    package var fileBytesMax = fileBytesMaxDefault
    /// What follows a failed attempt.
    package var retryPolicy = RetryPolicy()
    /// When a host counts as away.
    var connectivity = HostConnectivity.Settings()
    /// When a download is worth several connections.
    var segments = Segments.Settings()
    /// Which addresses may be connected to.
    package var egress: EgressGuard
    /// How this instance is called in the `worker` table.
    package var workerName = "transferd"

    package static let concurrencyDefault = 256
    /// `URLSessionConfiguration.httpMaximumConnectionsPerHost` on a phone; as polite on a server.
    package static let connectionsPerHostDefault = 6
    package static let heartbeatIntervalDefault: Duration = .seconds(3)
    package static let leaseDefault: Duration = .seconds(10)
    package static let pollIntervalDefault: Duration = .seconds(1)
    package static let fileBytesMaxDefault: Int64 = 1 << 40
    /// Connections of one download at most, where the host's cap leaves room for them.
    static let segmentsMaxDefault = 8
    /// Redirects followed by one attempt.
    static let redirectsMax = 10
    /// Deaths in a row, without progress, before a task is given up as one that kills its workers.
    static let deathsMax = 5
    /// How often progress is stored and revocations are looked for, at the latest.
    static let tickInterval: Duration = .milliseconds(500)
    /// How often a worker sees to its share of the hosts.
    static let shardsPollInterval: Duration = .seconds(1)
    /// How often at most, when there is other work; less than the shortest time between two polls.
    static let shardsInterval: Duration = .milliseconds(750)
    /// Attempts ended but not yet stored, beyond which no further task is claimed.
    static let backlogMax = 4096

    package init(egress: EgressGuard) { self.egress = egress }
}

extension Duration {
    /// The duration times a random factor of 0.8 to 1.2, so that instances do not move in step.
    var jittered: Duration { self * Double.random(in: 0.8...1.2) }

    /// The rest after work that took the duration, so that work takes `share` of the time, 0 to 1.
    func rest(forShare share: Double) -> Duration { self * (1 / share - 1) }
}
