package import Foundation

/// Names a webhook subscription.
package struct SubscriptionID: Hashable, Sendable, CustomStringConvertible {
    /// As stored in `subscription.id`.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// Lower-case hexadecimal with hyphens.
    package var description: String { uuid.text }
}
