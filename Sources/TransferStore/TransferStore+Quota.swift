import Postgres
import TransferModel

/// What bounds a tenant, and the service as a whole.
///
/// All of it is judged by what the statement sees: requests at the same time may each take the last
/// place. That is a few too many, and nobody has to wait for anybody.
extension TransferStore {
    /// What keeps submissions out: `quota(tenant_id, maximum, is_exceeded)` of each tenant, and
    /// `queue(is_full)` for `count` tasks of them all.
    ///
    /// Expects `lot(tenant_id, count)`. Only of a tenant with a limit the counts are looked at. The
    /// queue's length is the server's own count of rows added and removed, about a second old, and
    /// costs no look at them.
    func submissionBounds(count: Int64) -> Query {
        """
        quota AS MATERIALIZED (
            SELECT n.id AS tenant_id, n.outstanding_tasks_max AS maximum,
                CASE WHEN n.outstanding_tasks_max IS NULL THEN false
                    ELSE l.count + coalesce((
                        SELECT sum(k.tasks) FROM (\(Self.selectCounts(ofTenant: "n.id"))) k
                        WHERE NOT \(Self.isTerminal("k.state"))
                    ), 0) > n.outstanding_tasks_max END AS is_exceeded
            FROM (SELECT tenant_id, sum(count) AS count FROM lot GROUP BY tenant_id) l
            CROSS JOIN LATERAL (
                SELECT id, outstanding_tasks_max FROM tenant WHERE id = l.tenant_id LIMIT 1
            ) n
        ),
        queue AS MATERIALIZED (
            SELECT pg_stat_get_live_tuples('ready'::regclass)
                + pg_stat_get_live_tuples('delayed'::regclass)
                + pg_stat_get_live_tuples('held'::regclass)
                + pg_stat_get_live_tuples('asked'::regclass) + \(count)
                > \(settings.queueMax) AS is_full
        )
        """
    }

    /// Whether a tenant may have one more of what `rows` selects; looks at `maximum` of them.
    static func hasRoom(in rows: Query, maximum: Int64) -> Query {
        "(SELECT count(*) FROM (\(rows) LIMIT \(maximum)) q) < \(maximum)"
    }
}
