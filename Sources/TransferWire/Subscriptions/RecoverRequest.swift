/// The body of `POST …/recover`.
package struct RecoverRequest: Decodable, Sendable {
    package let since: Timestamp
    package let until: Timestamp?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        since = try container.decode(Timestamp.self, forKey: .since)
        until = try container.decodeIfPresent(Timestamp.self, forKey: .until)
    }

    private enum CodingKeys: CodingKey {
        case since, until
    }
}
