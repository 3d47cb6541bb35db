package import Foundation

/// The identifier of a webhook subscription.
package struct SubscriptionID: Hashable, Sendable, CustomStringConvertible {
    /// The value stored in `subscription.id`.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// The identifier in lower-case hexadecimal with hyphens.
    package var description: String { uuid.text }
}
