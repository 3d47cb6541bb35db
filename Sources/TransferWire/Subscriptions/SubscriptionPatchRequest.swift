/// The body of `PATCH /v1/subscriptions/{id}`: an absent member stays as it is, null clears it.
package struct SubscriptionPatchRequest: Decodable, Sendable {
    /// The URL of the receiver.
    package let url: String?
    /// The types of events wanted; null for every type.
    package let eventTypes: [String]??
    /// The description of the subscription.
    package let description: String??
    /// Whether messages are sent.
    package let enabled: Bool?
    /// The headers sent with each message.
    package let headers: [String: String]??
    package let concurrency: Int??
    package let rateLimit: Int??
    package let ackTimeoutSeconds: Int?
    /// The form of deliveries: `single` or `batch`.
    package let deliveryForm: String?
    package let wakeUpThrottling: Bool?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        url = try container.decodeIfPresent(String.self, forKey: .url)
        eventTypes = try container.decodeIfNamed([String].self, forKey: .eventTypes)
        description = try container.decodeIfNamed(String.self, forKey: .description)
        enabled = try container.decodeIfPresent(Bool.self, forKey: .enabled)
        headers = try container.decodeIfNamed([String: String].self, forKey: .headers)
        concurrency = try container.decodeIfNamed(Int.self, forKey: .concurrency)
        rateLimit = try container.decodeIfNamed(Int.self, forKey: .rateLimit)
        ackTimeoutSeconds = try container.decodeIfPresent(Int.self, forKey: .ackTimeoutSeconds)
        deliveryForm = try container.decodeIfPresent(String.self, forKey: .deliveryForm)
        wakeUpThrottling = try container.decodeIfPresent(Bool.self, forKey: .wakeUpThrottling)
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
