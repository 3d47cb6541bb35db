package import Foundation

/// Names a logged delivery.
package struct DeliveryID: Hashable, Sendable, CustomStringConvertible {
    /// As stored in `delivery_log.id`: version 7, so that order of identifiers is order of begin.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    /// Lower-case hexadecimal with hyphens.
    package var description: String { uuid.text }
}
