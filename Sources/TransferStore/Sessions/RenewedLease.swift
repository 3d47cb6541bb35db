package import Foundation

/// A lease as it is after a renewal.
package struct RenewedLease: Sendable {
    /// The number of tasks that the lease still holds.
    package let tasks: Int
    /// The end of the lease; nil when it does not end.
    package let expiresAt: Date?
}
