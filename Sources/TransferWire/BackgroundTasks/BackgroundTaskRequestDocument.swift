/// A pending request as its client sees it.
package struct BackgroundTaskRequestDocument: Codable, Sendable {
    /// The identifier of this submission.
    package let id: String
    package let identifier: String
    package let client: String
    package let kind: String
    package let submittedAt: Timestamp
    package var earliestBeginAt: Timestamp?
    package var requiresNetworkConnectivity: Bool
    package var requiresExternalPower: Bool
    package var minIntervalSeconds: Double?
    package var recurrence: RecurrenceDocument?
    package var cancelsTransfersAtExpiry: Bool
    package var completesWithTransfers: Bool
    package var title: String?
    package var subtitle: String?
    /// What the request waits for.
    package let waitsFor: Wait

    /// What a request waits for.
    package struct Wait: Codable, Equatable, Sendable {
        /// The reason, such as `date` or `network`.
        package let reason: String
        package let since: Timestamp
        /// The time at which the wait ends; absent if unknown.
        package let until: Timestamp?

        package init(reason: String, since: Timestamp, until: Timestamp?) {
            self.reason = reason
            self.since = since
            self.until = until
        }
    }

    package init(
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
