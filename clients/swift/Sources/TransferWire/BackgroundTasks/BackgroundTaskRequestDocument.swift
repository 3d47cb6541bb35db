/// A pending request as its client sees it.
public struct BackgroundTaskRequestDocument: Codable, Sendable {
    /// The identifier of this submission.
    public let id: String
    /// The identifier of the background task.
    public let identifier: String
    /// The client.
    public let client: String
    /// The kind: `app_refresh`, `processing` or `continued_processing`.
    public let kind: String
    /// The time at which the request was submitted.
    public let submittedAt: Timestamp
    /// The time before which it is not launched.
    public var earliestBeginAt: Timestamp?
    /// Whether it is launched only while the network is reachable.
    public var requiresNetworkConnectivity: Bool
    /// Whether it is launched only while capacity is idle.
    public var requiresExternalPower: Bool
    /// The least seconds between two launches.
    public var minIntervalSeconds: Double?
    /// The recurrence; absent for a single launch.
    public var recurrence: RecurrenceDocument?
    /// Whether the transfers linked to a run are cancelled when it expires.
    public var cancelsTransfersAtExpiry: Bool
    /// Whether a run is complete once the transfers linked to it have ended.
    public var completesWithTransfers: Bool
    /// The title shown to the user, of continued processing.
    public var title: String?
    /// The line below the title.
    public var subtitle: String?
    /// What the request waits for.
    public let waitsFor: Wait

    /// What a request waits for.
    public struct Wait: Codable, Equatable, Sendable {
        /// The reason, such as `date` or `network`.
        public let reason: String
        /// The time since which it waits.
        public let since: Timestamp
        /// The time at which the wait ends; absent if unknown.
        public let until: Timestamp?

        /// Creates the value from its parts.
        public init(reason: String, since: Timestamp, until: Timestamp?) {
            self.reason = reason
            self.since = since
            self.until = until
        }
    }

    /// Creates the value from its parts.
    public init(
        id: String,
        identifier: String,
        client: String,
        kind: String,
        submittedAt: Timestamp,
        requiresNetworkConnectivity: Bool,
        requiresExternalPower: Bool,
        cancelsTransfersAtExpiry: Bool,
        completesWithTransfers: Bool,
        waitsFor: Wait
    ) {
        self.id = id
        self.identifier = identifier
        self.client = client
        self.kind = kind
        self.submittedAt = submittedAt
        self.requiresNetworkConnectivity = requiresNetworkConnectivity
        self.requiresExternalPower = requiresExternalPower
        self.cancelsTransfersAtExpiry = cancelsTransfersAtExpiry
        self.completesWithTransfers = completesWithTransfers
        self.waitsFor = waitsFor
    }

    private enum CodingKeys: String, CodingKey {
        case id, identifier, client, kind, recurrence, title, subtitle
        case submittedAt = "submitted_at"
        case earliestBeginAt = "earliest_begin_at"
        case requiresNetworkConnectivity = "requires_network_connectivity"
        case requiresExternalPower = "requires_external_power"
        case minIntervalSeconds = "min_interval_seconds"
        case cancelsTransfersAtExpiry = "cancels_transfers_at_expiry"
        case completesWithTransfers = "completes_with_transfers"
        case waitsFor = "waits_for"
    }
}
