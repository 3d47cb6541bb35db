package import Foundation

/// An entry of the audit log as it was stored.
package struct AuditRecord: Sendable {
    /// The place of an entry in the order of the log.
    package struct Position: Sendable, Equatable {
        let epoch: Int32
        let transaction: String
        let id: Int64
    }

    package let position: Position
    package let recordedAt: Date
    package let entry: AuditEntry
}
