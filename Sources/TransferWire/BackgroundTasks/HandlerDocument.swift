/// A registered handler as its client sees it.
package struct HandlerDocument: Codable, Sendable {
    package let identifier: String
    package let client: String
    package let kind: String
    package let hasExpirationHandler: Bool
    package let registeredAt: Timestamp

    package init(
        identifier: String,
        client: String,
        kind: String,
        hasExpirationHandler: Bool,
        registeredAt: Timestamp
    ) {
        self.identifier = identifier
        self.client = client
        self.kind = kind
        self.hasExpirationHandler = hasExpirationHandler
        self.registeredAt = registeredAt
    }

    private enum CodingKeys: String, CodingKey {
        case identifier, client, kind
        case hasExpirationHandler = "has_expiration_handler"
        case registeredAt = "registered_at"
    }
}
