/// The body of `POST /v1/assertions`.
public struct AssertionRequest: Codable, Sendable {
    /// The name, by which leaks are counted.
    public let name: String
    /// The client that holds the assertion; nil for `default`.
    public let client: String?
    /// The identifier of the assertion, for a request that may be repeated; nil lets the service
    /// choose.
    public let id: String?

    /// Creates the value from its parts.
    public init(name: String, client: String? = nil, id: String? = nil) {
        self.name = name
        self.client = client
        self.id = id
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        client = try container.decodeIfPresent(String.self, forKey: .client)
        id = try container.decodeIfPresent(String.self, forKey: .id)
    }

    private enum CodingKeys: CodingKey {
        case name, client, id
    }
}
