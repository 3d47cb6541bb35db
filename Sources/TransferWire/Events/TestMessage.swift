/// The message of `POST …/test`, which reports no event.
package struct TestMessage: Codable, Sendable {
    package let id: String
    package let type: String
    package let timestamp: Timestamp
    package let data: Content

    package static let type = "subscription.test"

    package init(id: String, timestamp: Timestamp, subscription: String) {
        self.id = id
        type = Self.type
        self.timestamp = timestamp
        data = Content(subscriptionID: subscription)
    }

    /// The content of the message.
    package struct Content: Codable, Sendable {
        package let subscriptionID: String

        private enum CodingKeys: String, CodingKey {
            case subscriptionID = "subscription_id"
        }
    }
}
