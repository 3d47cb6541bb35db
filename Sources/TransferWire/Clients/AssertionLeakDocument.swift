/// The assertions of one name that a client has not ended in time.
package struct AssertionLeakDocument: Codable, Sendable {
    package let name: String
    /// The number of these assertions.
    package let count: Int64
    /// The time at which the last of them expired.
    package let leakedAt: Timestamp

    package init(name: String, count: Int64, leakedAt: Timestamp) {
        self.name = name
        self.count = count
        self.leakedAt = leakedAt
    }

    private enum CodingKeys: String, CodingKey {
        case name, count
        case leakedAt = "leaked_at"
    }
}
