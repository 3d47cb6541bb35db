/// The body of `POST /v1/keys`.
public struct KeyRequest: Codable, Sendable {
    /// The words that say what the key is for.
    public let name: String
    /// The parts of the API that the key may use; nil for those that a key has by default.
    public let scopes: [String]?
    /// The time from which the key is refused; nil for never.
    public let expiresAt: Timestamp?

    /// Creates a request; what is nil is absent.
    public init(name: String, scopes: [String]? = nil, expiresAt: Timestamp? = nil) {
        self.name = name
        self.scopes = scopes
        self.expiresAt = expiresAt
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        scopes = try container.decodeIfPresent([String].self, forKey: .scopes)
        expiresAt = try container.decodeIfPresent(Timestamp.self, forKey: .expiresAt)
    }

    private enum CodingKeys: String, CodingKey {
        case name, scopes
        case expiresAt = "expires_at"
    }
}
