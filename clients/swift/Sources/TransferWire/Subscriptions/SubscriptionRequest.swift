/// The body of `POST /v1/subscriptions`.
public struct SubscriptionRequest: Codable, Sendable {
    /// The URL of the receiver.
    public let url: String
    /// The client whose events are wanted; absent for those of all clients.
    public let client: String?
    /// The session whose events are wanted; absent for those of all sessions.
    public let sessionIdentifier: String?
    /// The types of events wanted; absent for every type.
    public let eventTypes: [String]?
    /// The description of the subscription.
    public let description: String?
    /// Whether messages are sent.
    public let enabled: Bool?
    /// The headers sent with each message.
    public let headers: [String: String]?
    /// The maximum number of messages that are sent at once.
    public let concurrency: Int?
    /// The maximum number of messages a second.
    public let rateLimit: Int?
    /// The seconds that the subscriber has for the acknowledgement after 202.
    public let ackTimeoutSeconds: Int?
    /// The form of deliveries: `single` or `batch`.
    public let deliveryForm: String?
    /// Whether fewer messages are sent to a client that does not run.
    public let wakeUpThrottling: Bool?

    /// Creates a request; what is nil is absent.
    public init(
        url: String,
        client: String? = nil,
        sessionIdentifier: String? = nil,
        eventTypes: [String]? = nil,
        description: String? = nil,
        enabled: Bool? = nil,
        headers: [String: String]? = nil,
        concurrency: Int? = nil,
        rateLimit: Int? = nil,
        ackTimeoutSeconds: Int? = nil,
        deliveryForm: String? = nil,
        wakeUpThrottling: Bool? = nil
    ) {
        self.url = url
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.eventTypes = eventTypes
        self.description = description
        self.enabled = enabled
        self.headers = headers
        self.concurrency = concurrency
        self.rateLimit = rateLimit
        self.ackTimeoutSeconds = ackTimeoutSeconds
        self.deliveryForm = deliveryForm
        self.wakeUpThrottling = wakeUpThrottling
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        url = try container.decode(String.self, forKey: .url)
        client = try container.decodeIfPresent(String.self, forKey: .client)
        sessionIdentifier = try container.decodeIfPresent(String.self, forKey: .sessionIdentifier)
        eventTypes = try container.decodeIfPresent([String].self, forKey: .eventTypes)
        description = try container.decodeIfPresent(String.self, forKey: .description)
        enabled = try container.decodeIfPresent(Bool.self, forKey: .enabled)
        headers = try container.decodeIfPresent([String: String].self, forKey: .headers)
        concurrency = try container.decodeIfPresent(Int.self, forKey: .concurrency)
        rateLimit = try container.decodeIfPresent(Int.self, forKey: .rateLimit)
        ackTimeoutSeconds = try container.decodeIfPresent(Int.self, forKey: .ackTimeoutSeconds)
        deliveryForm = try container.decodeIfPresent(String.self, forKey: .deliveryForm)
        wakeUpThrottling = try container.decodeIfPresent(Bool.self, forKey: .wakeUpThrottling)
    }

    private enum CodingKeys: String, CodingKey {
        case url, client, description, enabled, headers, concurrency
        case sessionIdentifier = "session_identifier"
        case eventTypes = "event_types"
        case rateLimit = "rate_limit"
        case ackTimeoutSeconds = "ack_timeout_seconds"
        case deliveryForm = "delivery_form"
        case wakeUpThrottling = "wake_up_throttling"
    }
}
