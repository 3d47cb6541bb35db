package import Foundation

/// The assertions of one name that a client has not ended in time.
package struct AssertionLeak: Equatable, Sendable {
    package let name: String
    /// The number of these assertions.
    package let count: Int64
    /// The time at which the last of them expired.
    package let leakedAt: Date

    /// The most names that are kept for a client; the names that leaked last.
    package static let namesMax = 100

    package init(name: String, count: Int64, leakedAt: Date) {
        self.name = name
        self.count = count
        self.leakedAt = leakedAt
    }
}
