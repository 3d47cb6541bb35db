public import TransferWire

/// What a session is called, and what holds for all of its tasks; what is nil has the service's
/// default.
public struct TransferSessionConfiguration: Sendable {
    /// The kinds of sessions.
    public enum Kind: String, Sendable {
        /// Results and events outlive the session.
        case background
        /// Nothing outlives the session; only such a session has data tasks.
        case ephemeral
    }

    /// The kind.
    public let kind: Kind
    /// The name of the session within its client.
    public let identifier: String
    /// The header fields sent with every task; a task's own take precedence.
    public var httpAdditionalHeaders: [String: String]?
    /// The maximum number of connections of the session's tasks to one host.
    public var httpMaximumConnectionsPerHost: Int?
    /// The time without a byte after which an attempt fails.
    public var timeoutIntervalForRequest: Duration?
    /// The time within which a task has to end.
    public var timeoutIntervalForResource: Duration?
    /// The time for which tasks are submitted again while the service is away: it cannot be
    /// reached, is `unavailable`, or a proxy answers in its place; 12 hours by default, at most 23.
    ///
    /// Then, and after any other error, the service's `retryPolicy` decides alone. Tasks that are
    /// resumed meanwhile wait for their turn, and can be cancelled.
    public var timeoutIntervalForSubmission: Duration = .seconds(12 * 3600)
    /// Whether tasks wait while a host cannot be reached.
    public var waitsForConnectivity: Bool?
    /// Whether tasks wait until there is nothing else to do.
    public var isDiscretionary: Bool?
    /// The container that an extension shares with the app that adopts its sessions.
    public var sharedContainerIdentifier: String?
    /// The maximum rate of all running tasks together in bytes per second.
    public var totalBytesPerSecondMax: Int64?
    /// The time for which a task is kept with its result after its end.
    public var resultRetention: Duration?
    /// The least time between two reports of a running task's bytes, from 1 second to an hour; nil
    /// for none, so that the counts of bytes change only with a task's other events.
    public var progressInterval: Duration? = .seconds(1)
    /// Further options, by their names in `openapi.yaml`.
    public var options: [String: JSONValue] = [:]
    /// The name of this process, for human readers: up to 255 visible ASCII characters.
    ///
    /// With a name, the tasks that this process submits are its own from the start: a
    /// ``TransferSession/reconnect(owner:persistedFormat:creationInfo:)`` of another process leaves
    /// them to it while it renews its lease, and takes them ``leaseDuration`` after its crash. A
    /// lease is renewed until its tasks have ended and the program has removed them with
    /// ``TransferTask/remove()``, or keeps neither their handles nor their results.
    /// Without one, as by default, the next process that reconnects takes them at once, also while
    /// this one runs.
    public var owner: String?
    /// The time after which this process's tasks can be taken by another process, once this one
    /// renews its lease no more; whole seconds, 1 second to 24 hours.
    public var leaseDuration: Duration = .seconds(60)

    private init(_ kind: Kind, _ identifier: String) {
        self.kind = kind
        self.identifier = identifier
    }

    /// A session whose tasks continue while this process does not run, and which the next process
    /// finds again by its name.
    public static func background(
        withIdentifier identifier: String
    ) -> TransferSessionConfiguration {
        TransferSessionConfiguration(.background, identifier)
    }

    /// A session of which nothing is kept after its end.
    public static func ephemeral(
        withIdentifier identifier: String
    ) -> TransferSessionConfiguration {
        TransferSessionConfiguration(.ephemeral, identifier)
    }
}

extension TransferSessionConfiguration {
    /// The body of the request that creates the session.
    var request: SessionRequest {
        var members = OptionMembers(options)
        if let timeoutIntervalForRequest {
            members.values["timeout_for_request"] = .number(timeoutIntervalForRequest.seconds)
        }
        if let timeoutIntervalForResource {
            members.values["timeout_for_resource"] = .number(timeoutIntervalForResource.seconds)
        }
        if let waitsForConnectivity {
            members.values["waits_for_connectivity"] = .bool(waitsForConnectivity)
        }
        if let progressInterval {
            members.values["progress_interval"] = .number(progressInterval.seconds)
        }
        return SessionRequest(
            kind: kind.rawValue,
            configuration: SessionConfigurationRequest(
                additionalHeaders: httpAdditionalHeaders,
                totalBytesPerSecondMax: totalBytesPerSecondMax,
                sharedContainerIdentifier: sharedContainerIdentifier,
                resultRetention: resultRetention?.seconds,
                maxConnectionsPerHost: httpMaximumConnectionsPerHost,
                isDiscretionary: isDiscretionary,
                options: members
            )
        )
    }
}

extension Duration {
    /// The time in seconds, to the millisecond, as it was given.
    ///
    /// The quotient of two durations is not: 3599 seconds by one second is 3599.0000000000005.
    var seconds: Double {
        let (seconds, attoseconds) = components
        return (Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000_000)) / 1000
    }
}
