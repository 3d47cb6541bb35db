/// An assertion as its client sees it.
package struct AssertionDocument: Codable, Sendable {
    package let id: String
    package let client: String
    package let name: String
    /// The state: `held`, `ended` or `expired`.
    package let state: String
    package let beganAt: Timestamp
    package let endedAt: Timestamp?
    /// The time at which it expires, or did; null while its client is active.
    package let expiresAt: Timestamp?
    /// The seconds until then, 0 once it has expired; null while its client is active.
    package let remainingSeconds: Double?

    package init(
        id: String,
        client: String,
        name: String,
        state: String,
        beganAt: Timestamp,
        endedAt: Timestamp?,
        expiresAt: Timestamp?,
        remainingSeconds: Double?
    ) {
        self.id = id
        self.client = client
        self.name = name
        self.state = state
        self.beganAt = beganAt
        self.endedAt = endedAt
        self.expiresAt = expiresAt
        self.remainingSeconds = remainingSeconds
    }

    /// Encodes also the null of the time that an active client has without limit.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(client, forKey: .client)
        try container.encode(name, forKey: .name)
        try container.encode(state, forKey: .state)
        try container.encode(beganAt, forKey: .beganAt)
        try container.encodeIfPresent(endedAt, forKey: .endedAt)
        try container.encode(expiresAt, forKey: .expiresAt)
        try container.encode(remainingSeconds, forKey: .remainingSeconds)
    }

    private enum CodingKeys: String, CodingKey {
        case id, client, name, state
        case beganAt = "began_at"
        case endedAt = "ended_at"
        case expiresAt = "expires_at"
        case remainingSeconds = "remaining_seconds"
    }
}
