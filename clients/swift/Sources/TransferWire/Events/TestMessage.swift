/// The message of `POST …/test`, which reports no event.
public struct TestMessage: Codable, Sendable {
    /// The identifier of the message.
    public let id: String
    /// The type, always `subscription.test`.
    public let type: String
    /// The time of the message.
    public let timestamp: Timestamp
    /// The content of the message.
    public let data: Content

    /// The type of every test message.
    public static let type = "subscription.test"

    /// Creates the value from its parts.
    public init(id: String, timestamp: Timestamp, subscription: String) {
        self.id = id
        type = Self.type
        self.timestamp = timestamp
        data = Content(subscriptionID: subscription)
    }

    /// The content of the message.
    public struct Content: Codable, Sendable {
        /// The identifier of the tested subscription.
        public let subscriptionID: String

        private enum CodingKeys: String, CodingKey {
            case subscriptionID = "subscription_id"
        }
    }
}
