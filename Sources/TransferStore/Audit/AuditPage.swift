/// A page of the audit log of one tenant, the newest entry first.
package struct AuditPage: Sendable {
    package let records: [AuditRecord]
    /// The position behind which the next page begins; nil if there is none.
    package let next: AuditRecord.Position?
}
