/// An assertion as its client sees it.
public struct AssertionDocument: Codable, Sendable {
    /// The identifier.
    public let id: String
    /// The client.
    public let client: String
    /// The name that the client gave it.
    public let name: String
    /// The state: `held`, `ended` or `expired`.
    public let state: String
    /// The time of its start.
    public let beganAt: Timestamp
    /// The time of its end.
    public let endedAt: Timestamp?
    /// The time at which it expires, or did; null while its client is active.
    public let expiresAt: Timestamp?
    /// The seconds until then, 0 once it has expired; null while its client is active.
    public let remainingSeconds: Double?

    /// Creates the value from its parts.
    public init(
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
    public func encode(to encoder: any Encoder) throws {
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
