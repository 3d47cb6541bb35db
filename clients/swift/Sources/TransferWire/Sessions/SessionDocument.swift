/// A session as clients see it.
public struct SessionDocument: Codable, Sendable {
    /// The client that owns the session.
    public let client: String
    /// The identifier that the client gave the session.
    public let identifier: String
    /// The session's own identifier; a later session with the same identifier has another one.
    public let id: String
    /// The kind: `background` or `ephemeral`.
    public let kind: String
    /// The configuration in force.
    public let configuration: Configuration
    /// The number of the generation; 0 before the first.
    public let generation: Int64
    /// The number of tasks of the generation that have not ended.
    public let outstanding: Int64
    /// The number of completed tasks of the generation.
    public let completed: Int64
    /// The number of failed tasks of the generation.
    public let failed: Int64
    /// The number of cancelled tasks of the generation.
    public let cancelled: Int64
    /// The numbers of all its tasks that are kept, by state.
    public let taskCounts: [String: Int64]
    /// The bytes received by its ended tasks that are kept.
    public let bytesReceived: Int64
    /// The bytes sent by its ended tasks that are kept.
    public let bytesSent: Int64
    /// The sequence of the newest event; 0 before the first.
    public let lastEventSequence: Int64
    /// Whether the session accepts no further tasks and ends with its last one.
    public let isFinishing: Bool
    /// The time at which the session was created.
    public let createdAt: Timestamp
    /// The tasks that `?reconnect=true` has taken over.
    public var reconnection: ReconnectionDocument?

    /// Creates the value from its parts.
    public init(
        client: String,
        identifier: String,
        id: String,
        kind: String,
        configuration: Configuration,
        generation: Int64,
        outstanding: Int64,
        completed: Int64,
        failed: Int64,
        cancelled: Int64,
        taskCounts: [String: Int64],
        bytesReceived: Int64,
        bytesSent: Int64,
        lastEventSequence: Int64,
        isFinishing: Bool,
        createdAt: Timestamp
    ) {
        self.client = client
        self.identifier = identifier
        self.id = id
        self.kind = kind
        self.configuration = configuration
        self.generation = generation
        self.outstanding = outstanding
        self.completed = completed
        self.failed = failed
        self.cancelled = cancelled
        self.taskCounts = taskCounts
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.lastEventSequence = lastEventSequence
        self.isFinishing = isFinishing
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case client, identifier, id, kind, configuration, generation, outstanding, completed
        case failed, cancelled, reconnection
        case taskCounts = "task_counts"
        case bytesReceived = "bytes_received"
        case bytesSent = "bytes_sent"
        case lastEventSequence = "last_event_sequence"
        case isFinishing = "is_finishing"
        case createdAt = "created_at"
    }

    /// The configuration in force.
    public struct Configuration: Codable, Sendable {
        /// The names of the headers sent with every task; their values may be secrets.
        public let headerNames: [String]
        /// The maximum rate of all running tasks together in bytes per second.
        public let totalBytesPerSecondMax: Int64?
        /// The container that an extension shares with the app that adopts its sessions.
        public let sharedContainerIdentifier: String?
        /// The retention of results in seconds; nil for the default of the service.
        public let resultRetention: Double?
        /// The maximum number of connections to a host; nil for as many as the host may have.
        public let maxConnectionsPerHost: Int?
        /// Whether the session's tasks wait until there is nothing else to do.
        public let isDiscretionary: Bool
        /// The options for transfers of its tasks.
        public let options: OptionMembers

        private enum CodingKeys: String, CodingKey {
            case headerNames = "header_names"
            case totalBytesPerSecondMax = "total_bytes_per_second_max"
            case sharedContainerIdentifier = "shared_container_identifier"
            case resultRetention = "result_retention"
            case maxConnectionsPerHost = "max_connections_per_host"
            case isDiscretionary = "is_discretionary"
        }

        /// Creates the value from its parts.
        public init(
            headerNames: [String],
            totalBytesPerSecondMax: Int64?,
            sharedContainerIdentifier: String?,
            resultRetention: Double?,
            maxConnectionsPerHost: Int?,
            isDiscretionary: Bool,
            options: OptionMembers
        ) {
            self.headerNames = headerNames
            self.totalBytesPerSecondMax = totalBytesPerSecondMax
            self.sharedContainerIdentifier = sharedContainerIdentifier
            self.resultRetention = resultRetention
            self.maxConnectionsPerHost = maxConnectionsPerHost
            self.isDiscretionary = isDiscretionary
            self.options = options
        }

        /// Reads the members of an object.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            headerNames = try container.decode([String].self, forKey: .headerNames)
            totalBytesPerSecondMax = try container.decodeIfPresent(
                Int64.self,
                forKey: .totalBytesPerSecondMax
            )
            sharedContainerIdentifier = try container.decodeIfPresent(
                String.self,
                forKey: .sharedContainerIdentifier
            )
            resultRetention = try container.decodeIfPresent(Double.self, forKey: .resultRetention)
            maxConnectionsPerHost = try container.decodeIfPresent(
                Int.self,
                forKey: .maxConnectionsPerHost
            )
            isDiscretionary = try container.decode(Bool.self, forKey: .isDiscretionary)
            options = try OptionMembers(from: decoder, besides: CodingKeys.self)
        }

        /// Writes the members of an object.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(headerNames, forKey: .headerNames)
            try container.encodeIfPresent(
                totalBytesPerSecondMax,
                forKey: .totalBytesPerSecondMax
            )
            try container.encodeIfPresent(
                sharedContainerIdentifier,
                forKey: .sharedContainerIdentifier
            )
            try container.encodeIfPresent(resultRetention, forKey: .resultRetention)
            try container.encodeIfPresent(
                maxConnectionsPerHost,
                forKey: .maxConnectionsPerHost
            )
            try container.encode(isDiscretionary, forKey: .isDiscretionary)
            try options.encode(to: encoder)
        }
    }
}
