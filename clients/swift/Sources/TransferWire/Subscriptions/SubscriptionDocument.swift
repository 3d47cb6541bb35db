/// A subscription as clients see it.
public struct SubscriptionDocument: Codable, Sendable {
    /// The identifier of the subscription.
    public let id: String
    /// The URL of the receiver.
    public let url: String
    /// The client whose events are wanted; absent for those of all clients.
    public let client: String?
    /// The session whose events are wanted; absent for those of all sessions.
    public let sessionIdentifier: String?
    /// The types of events wanted; absent for every type.
    public let eventTypes: [String]?
    /// The description that the client gave the subscription.
    public let description: String?
    /// Whether messages are sent.
    public let enabled: Bool
    /// The reason why nothing is sent; absent when messages are sent.
    public let disabled: Disablement?
    /// The names of the headers sent with each message, whose values are never shown.
    public let headerNames: [String]?
    /// The maximum number of messages that are sent at once.
    public let concurrency: Int?
    /// The maximum number of messages a second.
    public let rateLimit: Int?
    /// The seconds that the subscriber has for the acknowledgement after 202.
    public let ackTimeoutSeconds: Int64
    /// The form of deliveries: `single` or `batch`.
    public let deliveryForm: String
    /// Whether fewer messages are sent to a client that does not run.
    public let wakeUpThrottling: Bool
    /// The time at which the subscription was created.
    public let createdAt: Timestamp
    /// The secret, `whsec_…`, only in the answer to the creation.
    public let secret: String?

    /// Creates the value from its parts.
    public init(
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
    public struct Disablement: Codable, Equatable, Sendable {
        /// The reason: `client`, `gone` or `failing`.
        public let reason: String
        /// The time since when nothing is sent.
        public let since: Timestamp

        /// Creates the value from its parts.
        public init(reason: String, since: Timestamp) {
            self.reason = reason
            self.since = since
        }
    }
}
