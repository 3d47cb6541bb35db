/// The body of `PUT /v1/sessions/{identifier}`; without a body, the defaults apply.
package struct SessionRequest: Decodable, Sendable {
    /// The kind: `background` or `ephemeral`.
    package let kind: String?
    /// The configuration that the client asks for.
    package let configuration: SessionConfigurationRequest?

    package init(from decoder: any Decoder) throws {
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
