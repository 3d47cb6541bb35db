/// The body of `POST /v1/assertions`.
package struct AssertionRequest: Codable, Sendable {
    /// The name, by which leaks are counted.
    package let name: String
    /// The client that holds the assertion; nil for `default`.
    package let client: String?
    /// The identifier of the assertion, for a request that may be repeated; nil lets the service
    /// choose.
    package let id: String?

    package init(name: String, client: String? = nil, id: String? = nil) {
        self.name = name
        self.client = client
        self.id = id
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        client = try container.decodeIfPresent(String.self, forKey: .client)
        id = try container.decodeIfPresent(String.self, forKey: .id)
    }

    private enum CodingKeys: CodingKey {
        case name, client, id
    }
}
