/// The body of `PUT /v1/sessions/{identifier}`; without a body, the defaults apply.
public struct SessionRequest: Codable, Sendable {
    /// The kind: `background` or `ephemeral`.
    public let kind: String?
    /// The configuration that the client asks for.
    public let configuration: SessionConfigurationRequest?

    /// Creates a request; what is nil is absent.
    public init(kind: String? = nil, configuration: SessionConfigurationRequest? = nil) {
        self.kind = kind
        self.configuration = configuration
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        kind = try container.decodeIfPresent(String.self, forKey: .kind)
        configuration = try container.decodeIfPresent(
            SessionConfigurationRequest.self,
            forKey: .configuration
        )
    }

    private enum CodingKeys: CodingKey {
        case kind, configuration
    }
}
