import Postgres
import TransferModel

/// The bounds of a tenant and of the whole service.
///
/// A statement judges them by what it sees. Concurrent requests may each take the last place; the
/// few tasks too many cost less than making requests wait for each other.
extension Database {
    /// Returns the CTEs that bound submissions: `quota(tenant_id, maximum, is_exceeded)` of each
    /// tenant, and `queue(is_full, share)` for `count` tasks of all tenants.
    ///
    /// A tenant may have at most three times the free part of the queue. Alone it fills three
    /// quarters, and a tenant that comes later finds room. The bound has no effect before the queue
    /// is three quarters full.
    ///
    /// Expects `batch(tenant_id, count)`. Counts of a tenant are read only if it has a limit, or if
    /// the queue is that full. The length of the queue is as of the last fold, a second or two ago.
    func submissionBounds(count: Int64) -> Query {
        """
        queue AS MATERIALIZED (
            SELECT room < 0 AS is_full,
                -- Less than a quarter is free. Three times a longer rest may be more than a bigint.
                CASE WHEN room BETWEEN 0 AND \((settings.queueMax - 1) / 4)
                    THEN 3 * room END AS share
            FROM (
                SELECT \(settings.queueMax) - \(count) - coalesce((
                    SELECT sum(k.tasks) FROM task_count k
                    WHERE k.state <> 'running' AND NOT \(CountStore.isTerminal)
                ), 0)::bigint AS room
            ) q
        ),
        quota AS MATERIALIZED (
            SELECT n.id AS tenant_id, n.maximum,
                CASE WHEN n.maximum IS NULL THEN false
                    ELSE l.count + coalesce((
                        SELECT sum(k.tasks) FROM (\(CountStore.selectCounts(ofTenant: "n.id"))) k
                        WHERE NOT \(CountStore.isTerminal)
                    ), 0) > n.maximum END AS is_exceeded
            FROM (SELECT tenant_id, sum(count) AS count FROM batch GROUP BY tenant_id) l
            CROSS JOIN LATERAL (
                SELECT id, least(outstanding_tasks_max, (SELECT share FROM queue)) AS maximum
                FROM tenant WHERE id = l.tenant_id LIMIT 1
            ) n
        )
        """
    }

    /// Returns whether a tenant may have one more of the rows that `rows` selects; reads at most
    /// `maximum` of them.
    static func hasRoom(in rows: Query, maximum: Int64) -> Query {
        "(SELECT count(*) FROM (\(rows) LIMIT \(maximum)) q) < \(maximum)"
    }
}
