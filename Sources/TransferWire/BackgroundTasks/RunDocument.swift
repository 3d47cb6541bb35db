/// A launch of a background task as its client sees it.
package struct RunDocument: Codable, Sendable {
    package let id: String
    package let identifier: String
    package let client: String
    package let kind: String
    /// The state: `launched`, `running`, or how it ended.
    package let state: String
    /// Who or what ended it, such as `completed_by_client`; absent while it has not ended.
    package var reason: String?
    package let launchedAt: Timestamp
    package let deadlineAt: Timestamp
    package var acceptedAt: Timestamp?
    package var endedAt: Timestamp?
    /// The nominal time of the launch, of a request that recurs.
    package var occurrenceAt: Timestamp?
    package var progress: Progress?
    package var title: String?
    package var subtitle: String?
    /// The number of transfers linked to it.
    package let transfers: Int64

    /// How far the client has got.
    package struct Progress: Codable, Equatable, Sendable {
        package let completedUnitCount: Int64
        package let totalUnitCount: Int64

        package init(completedUnitCount: Int64, totalUnitCount: Int64) {
            self.completedUnitCount = completedUnitCount
            self.totalUnitCount = totalUnitCount
        }

        private enum CodingKeys: String, CodingKey {
            case completedUnitCount = "completed_unit_count"
            case totalUnitCount = "total_unit_count"
        }
    }

    package init(
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
