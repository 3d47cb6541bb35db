import Foundation
import Postgres
package import TransferModel

/// A stored number that differs from the contents of the tables.
package struct CountDifference: Sendable {
    /// What the number belongs to.
    package enum Subject: Sendable {
        case session(TenantID, client: ClientID, identifier: String)
        case tenant(TenantID)
        case allTenants
    }

    /// What the number belongs to.
    package let subject: Subject
    /// A state of tasks, `outstanding`, `events`, or `nowhere` for tasks that no queue holds.
    package let name: String
    /// The stored number.
    package let kept: Int64
    /// The number computed from the tables.
    package let actual: Int64
    /// Whether ``VerificationStore/unequalCounts(after:limit:repairs:)`` can correct it.
    package let isRepairable: Bool
}

extension CountDifference {
    /// Decodes a difference; nil in the row of a page without any.
    init?(session row: StoredRow) throws(StoreError) {
        guard let tenant = try row.decodeIfPresent("tenant_id", as: UUID.self) else {
            return nil
        }
        self.init(
            subject: .session(
                TenantID(tenant),
                client: try row.client("client"),
                identifier: try row.decode("identifier")
            ),
            name: try row.decode("name"),
            kept: try row.decode("kept"),
            actual: try row.decode("actual"),
            isRepairable: try row.decode("is_repairable")
        )
    }
}
