package import Foundation

/// The identifier of a logged delivery.
package struct DeliveryID: Hashable, Sendable, CustomStringConvertible {
    /// The value stored in `delivery_log.id`: version 7, so that identifiers sort by their start.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// The identifier in lower-case hexadecimal with hyphens.
    package var description: String { uuid.text }
}
