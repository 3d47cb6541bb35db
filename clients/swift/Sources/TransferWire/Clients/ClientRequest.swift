/// The body of `PUT /v1/clients/{client}`, which may be omitted.
public struct ClientRequest: Codable, Sendable {
    /// The kind: `app` or `extension`.
    public let kind: String?

    /// Creates a request; what is nil is absent.
    public init(kind: String? = nil) { self.kind = kind }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        kind = try container.decodeIfPresent(String.self, forKey: .kind)
    }

    private enum CodingKeys: CodingKey {
        case kind
    }
}
