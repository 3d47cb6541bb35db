/// The body of `POST /v1/keys`.
package struct KeyRequest: Decodable, Sendable {
    /// The words that say what the key is for.
    package let name: String
    /// The parts of the API that the key may use; nil for those that a key has by default.
    package let scopes: [String]?
    /// The time from which the key is refused; nil for never.
    package let expiresAt: Timestamp?

    package init(from decoder: any Decoder) throws {
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
