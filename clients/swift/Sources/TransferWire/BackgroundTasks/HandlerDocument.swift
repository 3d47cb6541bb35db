/// A registered handler as its client sees it.
public struct HandlerDocument: Codable, Sendable {
    /// The identifier of the background task.
    public let identifier: String
    /// The client.
    public let client: String
    /// The kind: `app_refresh`, `processing` or `continued_processing`.
    public let kind: String
    /// Whether `background_task.expiring` is sent before a run expires.
    public let hasExpirationHandler: Bool
    /// The time at which the handler was registered.
    public let registeredAt: Timestamp

    /// Creates the value from its parts.
    public init(
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
