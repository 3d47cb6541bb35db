/// The body of `POST /v1/subscriptions`.
package struct SubscriptionRequest: Decodable, Sendable {
    package let url: String
    package let client: String?
    package let sessionIdentifier: String?
    package let eventTypes: [String]?
    package let description: String?
    package let enabled: Bool?
    package let headers: [String: String]?
    package let concurrency: Int?
    package let rateLimit: Int?
    package let ackTimeoutSeconds: Int?
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
