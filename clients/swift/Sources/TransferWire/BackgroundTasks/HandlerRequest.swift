/// The body of `PUT /v1/background-tasks/handlers/{identifier}`.
public struct HandlerRequest: Codable, Sendable {
    /// The kind: `app_refresh`, `processing` or `continued_processing`.
    public let kind: String
    /// Whether `background_task.expiring` is sent before a run expires; true unless given.
    public let hasExpirationHandler: Bool?

    /// Creates a request; what is nil is absent.
    public init(kind: String, hasExpirationHandler: Bool? = nil) {
        self.kind = kind
        self.hasExpirationHandler = hasExpirationHandler
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        kind = try container.decode(String.self, forKey: .kind)
        hasExpirationHandler = try container.decodeIfPresent(
            Bool.self,
            forKey: .hasExpirationHandler
        )
    }

    private enum CodingKeys: String, CodingKey {
        case kind
        case hasExpirationHandler = "has_expiration_handler"
    }
}
