/// The assertions of one name that a client has not ended in time.
public struct AssertionLeakDocument: Codable, Sendable {
    /// The name that the client gave it.
    public let name: String
    /// The number of these assertions.
    public let count: Int64
    /// The time at which the last of them expired.
    public let leakedAt: Timestamp

    /// Creates the value from its parts.
    public init(name: String, count: Int64, leakedAt: Timestamp) {
        self.name = name
        self.count = count
        self.leakedAt = leakedAt
    }

    private enum CodingKeys: String, CodingKey {
        case name, count
        case leakedAt = "leaked_at"
    }
}
