/// A subscription as clients see it.
package struct SubscriptionDocument: Codable, Sendable {
    /// The identifier of the subscription.
    package let id: String
    /// The URL of the receiver.
    package let url: String
    /// The client whose events are wanted; absent for those of all clients.
    package let client: String?
    /// The session whose events are wanted; absent for those of all sessions.
    package let sessionIdentifier: String?
    /// The types of events wanted; absent for every type.
    package let eventTypes: [String]?
    /// The description that the client gave the subscription.
    package let description: String?
    /// Whether messages are sent.
    package let enabled: Bool
    /// The reason why nothing is sent; absent when messages are sent.
    package let disabled: Disablement?
    /// The names of the headers sent with each message, whose values are never shown.
    package let headerNames: [String]?
    package let concurrency: Int?
    package let rateLimit: Int?
    package let ackTimeoutSeconds: Int64
    /// The form of deliveries: `single` or `batch`.
    package let deliveryForm: String
    package let wakeUpThrottling: Bool
    /// The time at which the subscription was created.
    package let createdAt: Timestamp
    /// The secret, `whsec_…`, only in the answer to the creation.
    package let secret: String?

    package init(
        id: String,
        url: String,
        client: String?,
        sessionIdentifier: String?,
        eventTypes: [String]?,
        description: String?,
        disabled: Disablement?,
        headerNames: [String]?,
        concurrency: Int?,
        rateLimit: Int?,
        ackTimeoutSeconds: Int64,
        deliveryForm: String,
        wakeUpThrottling: Bool,
        createdAt: Timestamp,
        secret: String?
    ) {
        self.id = id
        self.url = url
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.eventTypes = eventTypes
        self.description = description
        enabled = disabled == nil
        self.disabled = disabled
        self.headerNames = headerNames
        self.concurrency = concurrency
        self.rateLimit = rateLimit
        self.ackTimeoutSeconds = ackTimeoutSeconds
        self.deliveryForm = deliveryForm
        self.wakeUpThrottling = wakeUpThrottling
        self.createdAt = createdAt
        self.secret = secret
    }

    private enum CodingKeys: String, CodingKey {
        case id, url, client, description, enabled, disabled, concurrency, secret
        case sessionIdentifier = "session_identifier"
        case eventTypes = "event_types"
        case headerNames = "header_names"
        case rateLimit = "rate_limit"
        case ackTimeoutSeconds = "ack_timeout_seconds"
        case deliveryForm = "delivery_form"
        case wakeUpThrottling = "wake_up_throttling"
        case createdAt = "created_at"
    }

    /// The reason why nothing is sent, and the time since when.
    package struct Disablement: Codable, Equatable, Sendable {
        /// The reason: `client`, `gone` or `failing`.
        package let reason: String
        /// The time since when nothing is sent.
        package let since: Timestamp

        package init(reason: String, since: Timestamp) {
            self.reason = reason
            self.since = since
        }
    }
}
