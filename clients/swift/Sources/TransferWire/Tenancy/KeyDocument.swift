/// An API key as its tenant sees it.
public struct KeyDocument: Codable, Sendable {
    /// The public identifier: the second part of the key itself.
    public let id: String
    /// The words that say what the key is for.
    public let name: String
    /// The parts of the API that the key may use.
    public let scopes: [String]
    /// The whole key, which is told only when it is created.
    public var key: String?
    /// The time at which the key was created.
    public let createdAt: Timestamp
    /// The time of the last use, to about a minute; absent for a key that was never used.
    public let lastUsedAt: Timestamp?
    /// The time from which the key is refused; absent for never.
    public let expiresAt: Timestamp?
    /// The time at which the key was revoked; absent while it is not.
    public let revokedAt: Timestamp?
    /// The most requests with it in a second to each instance; absent for any number.
    public let requestsPerSecondMax: Int?

    /// Creates the value from its parts.
    public init(
        id: String,
        name: String,
        scopes: [String],
        createdAt: Timestamp,
        lastUsedAt: Timestamp? = nil,
        expiresAt: Timestamp? = nil,
        revokedAt: Timestamp? = nil,
        requestsPerSecondMax: Int? = nil
    ) {
        self.id = id
        self.name = name
        self.scopes = scopes
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.requestsPerSecondMax = requestsPerSecondMax
    }

    private enum CodingKeys: String, CodingKey {
        case id, name, scopes, key
        case createdAt = "created_at"
        case lastUsedAt = "last_used_at"
        case expiresAt = "expires_at"
        case revokedAt = "revoked_at"
        case requestsPerSecondMax = "requests_per_second_max"
    }
}
