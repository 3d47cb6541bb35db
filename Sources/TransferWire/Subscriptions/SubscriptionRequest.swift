/// The body of `POST /v1/subscriptions`.
package struct SubscriptionRequest: Decodable, Sendable {
    /// The URL of the receiver.
    package let url: String
    /// The client whose events are wanted; absent for those of all clients.
    package let client: String?
    /// The session whose events are wanted; absent for those of all sessions.
    package let sessionIdentifier: String?
    /// The types of events wanted; absent for every type.
    package let eventTypes: [String]?
    /// The description of the subscription.
    package let description: String?
    /// Whether messages are sent.
    package let enabled: Bool?
    /// The headers sent with each message.
    package let headers: [String: String]?
    package let concurrency: Int?
    package let rateLimit: Int?
    package let ackTimeoutSeconds: Int?
    /// The form of deliveries: `single` or `batch`.
    package let deliveryForm: String?
    package let wakeUpThrottling: Bool?

    package init(from decoder: any Decoder) throws {
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
