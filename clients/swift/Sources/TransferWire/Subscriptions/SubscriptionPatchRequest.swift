/// The body of `PATCH /v1/subscriptions/{id}`, a JSON Merge Patch (RFC 7396): an absent member
/// stays as it is, null resets it to its default.
public struct SubscriptionPatchRequest: Codable, Sendable {
    /// The URL of the receiver, which cannot be cleared.
    public let url: String?
    /// The types of events wanted; null for every type.
    public let eventTypes: [String]??
    /// The description of the subscription.
    public let description: String??
    /// Whether messages are sent.
    public let enabled: Bool??
    /// The headers to be set, and with nil those to be removed; others stay.
    ///
    /// Null removes all. With a ``url`` at another origin, each header that there is has to be
    /// named.
    public let headers: [String: String?]??
    /// The maximum number of messages that are sent at once.
    public let concurrency: Int??
    /// The maximum number of messages a second.
    public let rateLimit: Int??
    /// The seconds that the subscriber has for the acknowledgement after 202.
    public let ackTimeoutSeconds: Int??
    /// The form of deliveries: `single` or `batch`.
    public let deliveryForm: String??
    /// Whether fewer messages are sent to a client that does not run.
    public let wakeUpThrottling: Bool??

    /// Creates a request; what is nil is absent.
    public init(
        url: String? = nil,
        eventTypes: [String]?? = nil,
        description: String?? = nil,
        enabled: Bool?? = nil,
        headers: [String: String?]?? = nil,
        concurrency: Int?? = nil,
        rateLimit: Int?? = nil,
        ackTimeoutSeconds: Int?? = nil,
        deliveryForm: String?? = nil,
        wakeUpThrottling: Bool?? = nil
    ) {
        self.url = url
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
        // A URL cannot be cleared, so null is refused.
        url = try container.contains(.url) ? container.decode(String.self, forKey: .url) : nil
        eventTypes = try container.decodeIfNamed([String].self, forKey: .eventTypes)
        description = try container.decodeIfNamed(String.self, forKey: .description)
        enabled = try container.decodeIfNamed(Bool.self, forKey: .enabled)
        headers = try container.decodeIfNamed([String: String?].self, forKey: .headers)
        concurrency = try container.decodeIfNamed(Int.self, forKey: .concurrency)
        rateLimit = try container.decodeIfNamed(Int.self, forKey: .rateLimit)
        ackTimeoutSeconds = try container.decodeIfNamed(Int.self, forKey: .ackTimeoutSeconds)
        deliveryForm = try container.decodeIfNamed(String.self, forKey: .deliveryForm)
        wakeUpThrottling = try container.decodeIfNamed(Bool.self, forKey: .wakeUpThrottling)
    }

    private enum CodingKeys: String, CodingKey {
        case url, description, enabled, headers, concurrency
        case eventTypes = "event_types"
        case rateLimit = "rate_limit"
        case ackTimeoutSeconds = "ack_timeout_seconds"
        case deliveryForm = "delivery_form"
        case wakeUpThrottling = "wake_up_throttling"
    }
}
