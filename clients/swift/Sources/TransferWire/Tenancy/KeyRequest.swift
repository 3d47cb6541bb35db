/// The body of `POST /v1/keys`.
public struct KeyRequest: Codable, Sendable {
    /// The words that say what the key is for.
    public let name: String
    /// The parts of the API that the key may use; nil for those that a key has by default.
    public let scopes: [String]?
    /// The time from which the key is refused; nil for that of the caller's key, if it has one.
    public let expiresAt: Timestamp?
    /// The most requests with it in a second to each instance; nil for that of the caller's key, if
    /// it has one.
    public let requestsPerSecondMax: Int?

    /// Creates a request; what is nil is absent.
    public init(
        name: String,
        scopes: [String]? = nil,
        expiresAt: Timestamp? = nil,
        requestsPerSecondMax: Int? = nil
    ) {
        self.name = name
        self.scopes = scopes
        self.expiresAt = expiresAt
        self.requestsPerSecondMax = requestsPerSecondMax
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        scopes = try container.decodeIfPresent([String].self, forKey: .scopes)
        expiresAt = try container.decodeIfPresent(Timestamp.self, forKey: .expiresAt)
        requestsPerSecondMax =
            try container.decodeIfPresent(Int.self, forKey: .requestsPerSecondMax)
    }

    private enum CodingKeys: String, CodingKey {
        case name, scopes
        case expiresAt = "expires_at"
        case requestsPerSecondMax = "requests_per_second_max"
    }
}
