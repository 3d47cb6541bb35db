/// A request to pause what the tenant's tasks do.
public struct PauseRequest: Codable, Sendable {
    /// The host and port, as `files.example:443`; nil for all hosts.
    public let host: String?
    /// Whether running tasks are given back to the queue; nil for false.
    public let givesBack: Bool?

    /// Creates the value from its parts.
    public init(host: String? = nil, givesBack: Bool? = nil) {
        self.host = host
        self.givesBack = givesBack
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        host = try container.decodeIfPresent(String.self, forKey: .host)
        givesBack = try container.decodeIfPresent(Bool.self, forKey: .givesBack)
    }

    private enum CodingKeys: String, CodingKey {
        case host
        case givesBack = "gives_back"
    }
}
