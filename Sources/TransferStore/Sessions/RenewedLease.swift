package import Foundation

/// A lease as it is after a renewal.
package struct RenewedLease: Sendable {
    /// How many tasks it still holds.
    package let tasks: Int
    /// Nil when it does not end.
    package let expiresAt: Date?
}
