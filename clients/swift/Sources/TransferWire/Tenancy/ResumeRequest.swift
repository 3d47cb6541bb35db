/// A request to end a pause of the tenant's tasks.
public struct ResumeRequest: Codable, Sendable {
    /// The host and port, as `files.example:443`; nil for the pause of all hosts.
    public let host: String?

    /// Creates the value from its parts.
    public init(host: String? = nil) { self.host = host }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        host = try container.decodeIfPresent(String.self, forKey: .host)
    }

    private enum CodingKeys: String, CodingKey {
        case host
    }
}
