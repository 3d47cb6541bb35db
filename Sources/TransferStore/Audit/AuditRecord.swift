package import Foundation

/// An entry of the audit log as it was stored.
package struct AuditRecord: Sendable {
    /// The place of an entry in the order of the log.
    package struct Position: Sendable, Equatable {
        let epoch: Int32
        /// Decimal digits of an unsigned number of 64 bits.
        let transaction: String
        let id: Int64

        /// The position as text, for whoever only returns it.
        package var serialized: String { "\(epoch).\(transaction).\(id)" }

        init(epoch: Int32, transaction: String, id: Int64) {
            self.epoch = epoch
            self.transaction = transaction
            self.id = id
        }

        /// Reads a position; nil for anything that ``serialized`` does not produce.
        package init?(_ text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let epoch = Int32(parts[0]),
                let transaction = UInt64(parts[1]), let id = Int64(parts[2])
            else { return nil }
            self.init(epoch: epoch, transaction: String(transaction), id: id)
            guard serialized == text else { return nil }
        }
    }

    package let position: Position
    package let recordedAt: Date
    package let entry: AuditEntry
}
