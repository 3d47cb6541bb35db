import Postgres
import TransferModel

/// What bounds a tenant, and the service as a whole.
///
/// All of it is judged by what the statement sees: requests at the same time may each take the last
/// place. That is a few too many, and nobody has to wait for anybody.
extension Database {
    /// Returns what keeps submissions out: `quota(tenant_id, maximum, is_exceeded)` of each tenant,
    /// and `queue(is_full, share)` for `count` tasks of them all.
    ///
    /// A tenant has three times what is free of the queue at most: alone three quarters of it, and
    /// whoever comes finds room. Nobody can have as much before the queue is three quarters full.
    ///
    /// Expects `lot(tenant_id, count)`. Only of a tenant with a limit the counts are looked at, and
    /// in a queue as full as that. The queue's length is the server's own count of rows added and
    /// removed, about a second old, and costs no look at them.
    func submissionBounds(count: Int64) -> Query {
        """
        queue AS MATERIALIZED (
            SELECT room < 0 AS is_full,
                CASE WHEN room >= 0 AND \(settings.queueMax) - room > 3 * room
                    THEN 3 * room END AS share
            FROM (
                SELECT \(settings.queueMax) - \(count)
                    - pg_stat_get_live_tuples('ready'::regclass)
                    - pg_stat_get_live_tuples('delayed'::regclass)
                    - pg_stat_get_live_tuples('held'::regclass)
                    - pg_stat_get_live_tuples('asked'::regclass) AS room
            ) q
        ),
        quota AS MATERIALIZED (
            SELECT n.id AS tenant_id, n.maximum,
                CASE WHEN n.maximum IS NULL THEN false
                    ELSE l.count + coalesce((
                        SELECT sum(k.tasks) FROM (\(CountStore.selectCounts(ofTenant: "n.id"))) k
                        WHERE NOT \(CountStore.isTerminal("k.state"))
                    ), 0) > n.maximum END AS is_exceeded
            FROM (SELECT tenant_id, sum(count) AS count FROM batch GROUP BY tenant_id) l
            CROSS JOIN LATERAL (
                SELECT id, least(outstanding_tasks_max, (SELECT share FROM queue)) AS maximum
                FROM tenant WHERE id = l.tenant_id LIMIT 1
            ) n
        )
        """
    }

    /// Returns whether a tenant may have one more of what `rows` selects; looks at `maximum` of
    /// them.
    static func hasRoom(in rows: Query, maximum: Int64) -> Query {
        "(SELECT count(*) FROM (\(rows) LIMIT \(maximum)) q) < \(maximum)"
    }
}
