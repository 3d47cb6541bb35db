import Foundation
import Postgres
import TransferModel

extension Fragment {
    /// Whether a row is a pause, in words by which the table is read in the order of its key: without
    /// an index a plan would have a cost beside which no other counts.
    static let isAPause: Query = "id > \(UUID.zero)"

    /// Whether tasks of a tenant do not begin at a host; `tenant` is only looked up if anything is
    /// paused at all.
    static func isPaused(tenant: Query, host: Query) -> Query {
        """
        (CASE WHEN (SELECT EXISTS (SELECT 1 FROM pause WHERE \(isAPause))) THEN EXISTS (
            SELECT 1 FROM pause z
            WHERE z.\(isAPause) AND (z.host_key IS NULL OR z.host_key = \(host))
                AND (z.tenant_id IS NULL OR z.tenant_id = \(tenant))
        ) ELSE false END)
        """
    }
}
