/// The body of `PUT /v1/clients/{client}`, which may be omitted.
package struct ClientRequest: Decodable, Sendable {
    /// The kind: `app` or `extension`.
    package let kind: String?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        kind = try container.decodeIfPresent(String.self, forKey: .kind)
    }

    private enum CodingKeys: CodingKey {
        case kind
    }
}
