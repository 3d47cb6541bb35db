/// The body of `POST …/recover`.
package struct RecoverRequest: Decodable, Sendable {
    /// The earliest time at which a message to recover was given up.
    package let since: Timestamp
    /// The time before which it was given up; absent for no such limit.
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
