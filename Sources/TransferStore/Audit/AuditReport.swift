package import Foundation

/// What a verification of the audit log has found.
package struct AuditReport: Sendable {
    /// The block that was sealed last; number 0 before the first.
    package let end: AuditBlock
    /// The number of the last block whose entries are removed, as the database says; 0 for none.
    package let removed: Int64
    /// The number of entries that no block covers yet.
    package let unsealed: Int64
    /// The time at which the last block whose entries are removed was sealed; nil for none.
    package var removedSealedAt: Date?
    /// The number of blocks that were compared.
    package var blocks: Int64 = 0
    /// The number of entries that were compared.
    package var entries: Int64 = 0
    /// Everything that is not as it was written; empty if nothing was altered.
    package var findings: [AuditFinding] = []
}
