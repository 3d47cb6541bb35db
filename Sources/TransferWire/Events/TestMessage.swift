/// The message of `POST …/test`, which reports no event.
package struct TestMessage: Codable, Sendable {
    /// The identifier of the message.
    package let id: String
    /// The type, always `subscription.test`.
    package let type: String
    /// The time of the message.
    package let timestamp: Timestamp
    /// The content of the message.
    package let data: Content

    /// The type of every test message.
    package static let type = "subscription.test"

    package init(id: String, timestamp: Timestamp, subscription: String) {
        self.id = id
        type = Self.type
        self.timestamp = timestamp
        data = Content(subscriptionID: subscription)
    }

    /// The content of the message.
    package struct Content: Codable, Sendable {
        /// The identifier of the tested subscription.
        package let subscriptionID: String

        private enum CodingKeys: String, CodingKey {
            case subscriptionID = "subscription_id"
        }
    }
}
