/// The body of `POST /v1/subscriptions`.
package struct SubscriptionRequest: Decodable, Sendable {
    package let url: String
    package let sessionIdentifier: String?
    package let eventTypes: [String]?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        url = try container.decode(String.self, forKey: .url)
        sessionIdentifier = try container.decodeIfPresent(String.self, forKey: .sessionIdentifier)
        eventTypes = try container.decodeIfPresent([String].self, forKey: .eventTypes)
    }

    private enum CodingKeys: String, CodingKey {
        case url
        case sessionIdentifier = "session_identifier"
        case eventTypes = "event_types"
    }
}

/// A subscription as clients see it.
package struct SubscriptionDocument: Codable, Sendable {
    package let id: String
    package let url: String
    /// Absent for the events of all sessions.
    package let sessionIdentifier: String?
    /// Absent for events of every type.
    package let eventTypes: [String]?
    /// Absent only in the answer to its creation, whose bytes are fixed before it exists.
    package let createdAt: Timestamp?
    /// `whsec_…`; only in the answer to its creation.
    package let secret: String?

    package init(
        id: String,
        url: String,
        sessionIdentifier: String?,
        eventTypes: [String]?,
        createdAt: Timestamp?,
        secret: String?
    ) {
        self.id = id
        self.url = url
        self.sessionIdentifier = sessionIdentifier
        self.eventTypes = eventTypes
        self.createdAt = createdAt
        self.secret = secret
    }

    private enum CodingKeys: String, CodingKey {
        case id, url, secret
        case sessionIdentifier = "session_identifier"
        case eventTypes = "event_types"
        case createdAt = "created_at"
    }
}
