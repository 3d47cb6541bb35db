/// The body of `PUT /v1/background-tasks/handlers/{identifier}`.
package struct HandlerRequest: Decodable, Sendable {
    /// The kind: `app_refresh`, `processing` or `continued_processing`.
    package let kind: String
    /// Whether `background_task.expiring` is sent before a run expires; true unless given.
    package let hasExpirationHandler: Bool?

    package init(from decoder: any Decoder) throws {
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
