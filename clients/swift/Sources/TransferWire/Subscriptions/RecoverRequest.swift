/// The body of `POST …/recover`.
public struct RecoverRequest: Codable, Sendable {
    /// The earliest time at which a message to recover was given up.
    public let since: Timestamp
    /// The time before which it was given up; absent for no such limit.
    public let until: Timestamp?

    /// Creates a request; what is nil is absent.
    public init(since: Timestamp, until: Timestamp? = nil) {
        self.since = since
        self.until = until
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        since = try container.decode(Timestamp.self, forKey: .since)
        until = try container.decodeIfPresent(Timestamp.self, forKey: .until)
    }

    private enum CodingKeys: CodingKey {
        case since, until
    }
}
