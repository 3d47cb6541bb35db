package import Foundation

/// The identifier of a bulk operation, also for clients.
package struct BulkOperationID: Hashable, Sendable, CustomStringConvertible {
    /// The value stored in `bulk_operation.id`: version 7, so that operations are carried out in
    /// the order of their requests.
    package let uuid: UUID
    package init(_ uuid: UUID) { self.uuid = uuid }

    package var description: String { uuid.text }
}
