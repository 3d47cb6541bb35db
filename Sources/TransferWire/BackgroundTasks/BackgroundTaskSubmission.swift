/// The body of `POST /v1/background-tasks/requests`.
package struct BackgroundTaskSubmission: Decodable, Sendable {
    /// The identifier of the background task, for which a handler is registered.
    package let identifier: String
    /// The client; nil for `default`.
    package let client: String?
    package let earliestBeginAt: Timestamp?
    package let requiresNetworkConnectivity: Bool?
    package let requiresExternalPower: Bool?
    package let minIntervalSeconds: Double?
    package let recurrence: RecurrenceDocument?
    package let cancelsTransfersAtExpiry: Bool?
    package let completesWithTransfers: Bool?
    /// The words shown to the user, of continued processing, as ``subtitle``.
    package let title: String?
    package let subtitle: String?
    /// What becomes of continued processing that cannot run at once: `queue` or `fail`.
    package let strategy: String?

    package init(from decoder: any Decoder) throws {
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
