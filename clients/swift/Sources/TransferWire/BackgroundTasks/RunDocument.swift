/// A launch of a background task as its client sees it.
public struct RunDocument: Codable, Sendable {
    /// The identifier.
    public let id: String
    /// The identifier of the background task.
    public let identifier: String
    /// The client.
    public let client: String
    /// The kind: `app_refresh`, `processing` or `continued_processing`.
    public let kind: String
    /// The state: `launched`, `running`, or how it ended.
    public let state: String
    /// Who or what ended it, such as `completed_by_client`; absent while it has not ended.
    public var reason: String?
    /// The time of the launch.
    public let launchedAt: Timestamp
    /// The time at which the run expires.
    public let deadlineAt: Timestamp
    /// The time at which the launch was accepted; absent until the service has noticed that.
    public var acceptedAt: Timestamp?
    /// The time of its end.
    public var endedAt: Timestamp?
    /// The nominal time of the launch, of a request that recurs.
    public var occurrenceAt: Timestamp?
    /// The progress that the client has reported.
    public var progress: Progress?
    /// The title shown to the user, of continued processing.
    public var title: String?
    /// The line below the title.
    public var subtitle: String?
    /// The number of transfers that were linked to it, whatever has become of them.
    public let transfers: Int64

    /// How far the client has got.
    public struct Progress: Codable, Equatable, Sendable {
        /// The number of units that are done.
        public let completedUnitCount: Int64
        /// The number of all units.
        public let totalUnitCount: Int64

        /// Creates the value from its parts.
        public init(completedUnitCount: Int64, totalUnitCount: Int64) {
            self.completedUnitCount = completedUnitCount
            self.totalUnitCount = totalUnitCount
        }

        private enum CodingKeys: String, CodingKey {
            case completedUnitCount = "completed_unit_count"
            case totalUnitCount = "total_unit_count"
        }
    }

    /// Creates the value from its parts.
    public init(
        id: String,
        identifier: String,
        client: String,
        kind: String,
        state: String,
        launchedAt: Timestamp,
        deadlineAt: Timestamp,
        transfers: Int64
    ) {
        self.id = id
        self.identifier = identifier
        self.client = client
        self.kind = kind
        self.state = state
        self.launchedAt = launchedAt
        self.deadlineAt = deadlineAt
        self.transfers = transfers
    }

    private enum CodingKeys: String, CodingKey {
        case id, identifier, client, kind, state, reason, progress, title, subtitle, transfers
        case launchedAt = "launched_at"
        case deadlineAt = "deadline_at"
        case acceptedAt = "accepted_at"
        case endedAt = "ended_at"
        case occurrenceAt = "occurrence_at"
    }
}
