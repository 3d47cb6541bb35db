/// The body of `POST /v1/background-tasks/requests`.
public struct BackgroundTaskSubmission: Codable, Sendable {
    /// The identifier of the background task, for which a handler is registered.
    public let identifier: String
    /// The client; nil for `default`.
    public let client: String?
    /// The time before which it is not launched.
    public let earliestBeginAt: Timestamp?
    /// Whether it is launched only while the network is reachable.
    public let requiresNetworkConnectivity: Bool?
    /// Whether it is launched only while capacity is idle.
    public let requiresExternalPower: Bool?
    /// The least seconds between two launches.
    public let minIntervalSeconds: Double?
    /// The recurrence; absent for a single launch.
    public let recurrence: RecurrenceDocument?
    /// Whether the transfers linked to a run are cancelled when it expires.
    public let cancelsTransfersAtExpiry: Bool?
    /// Whether a run is complete once the transfers linked to it have ended.
    public let completesWithTransfers: Bool?
    /// The words shown to the user, of continued processing, as ``subtitle``.
    public let title: String?
    /// The line below the title.
    public let subtitle: String?
    /// What becomes of continued processing that cannot run at once: `queue` or `fail`.
    public let strategy: String?

    /// Creates a request; what is nil is absent.
    public init(
        identifier: String,
        client: String? = nil,
        earliestBeginAt: Timestamp? = nil,
        requiresNetworkConnectivity: Bool? = nil,
        requiresExternalPower: Bool? = nil,
        minIntervalSeconds: Double? = nil,
        recurrence: RecurrenceDocument? = nil,
        cancelsTransfersAtExpiry: Bool? = nil,
        completesWithTransfers: Bool? = nil,
        title: String? = nil,
        subtitle: String? = nil,
        strategy: String? = nil
    ) {
        self.identifier = identifier
        self.client = client
        self.earliestBeginAt = earliestBeginAt
        self.requiresNetworkConnectivity = requiresNetworkConnectivity
        self.requiresExternalPower = requiresExternalPower
        self.minIntervalSeconds = minIntervalSeconds
        self.recurrence = recurrence
        self.cancelsTransfersAtExpiry = cancelsTransfersAtExpiry
        self.completesWithTransfers = completesWithTransfers
        self.title = title
        self.subtitle = subtitle
        self.strategy = strategy
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        identifier = try container.decode(String.self, forKey: .identifier)
        client = try container.decodeIfPresent(String.self, forKey: .client)
        earliestBeginAt = try container.decodeIfPresent(Timestamp.self, forKey: .earliestBeginAt)
        requiresNetworkConnectivity = try container.decodeIfPresent(
            Bool.self,
            forKey: .requiresNetworkConnectivity
        )
        requiresExternalPower = try container.decodeIfPresent(
            Bool.self,
            forKey: .requiresExternalPower
        )
        minIntervalSeconds = try container.decodeIfPresent(
            Double.self,
            forKey: .minIntervalSeconds
        )
        recurrence = try container.decodeIfPresent(RecurrenceDocument.self, forKey: .recurrence)
        cancelsTransfersAtExpiry = try container.decodeIfPresent(
            Bool.self,
            forKey: .cancelsTransfersAtExpiry
        )
        completesWithTransfers = try container.decodeIfPresent(
            Bool.self,
            forKey: .completesWithTransfers
        )
        title = try container.decodeIfPresent(String.self, forKey: .title)
        subtitle = try container.decodeIfPresent(String.self, forKey: .subtitle)
        strategy = try container.decodeIfPresent(String.self, forKey: .strategy)
    }

    private enum CodingKeys: String, CodingKey {
        case identifier, client, recurrence, title, subtitle, strategy
        case earliestBeginAt = "earliest_begin_at"
        case requiresNetworkConnectivity = "requires_network_connectivity"
        case requiresExternalPower = "requires_external_power"
        case minIntervalSeconds = "min_interval_seconds"
        case cancelsTransfersAtExpiry = "cancels_transfers_at_expiry"
        case completesWithTransfers = "completes_with_transfers"
    }
}
