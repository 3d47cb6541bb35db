import Postgres

extension ScaleWorld {
    /// The statements that put the events of all sessions into the feed, ten in a row.
    var feedRows: [Query] {
        [
            """
            INSERT INTO feed_session (session_id, first_sequence, last_sequence)
            SELECT session_id, 1, last_sequence FROM session_progress
            """,
            """
            INSERT INTO event_feed (
                tenant_id, last_position, first_position, session_id, first_sequence,
                first_occurred_at, last_occurred_at)
            SELECT \(tenantID), p.base + k.last, p.base + k.first, p.session_id, k.first,
                now() - interval '1 day', now()
            FROM (
                SELECT session_id, last_sequence,
                    (sum(last_sequence) OVER (ORDER BY session_id) - last_sequence)::bigint AS base
                FROM session_progress
            ) p
            CROSS JOIN LATERAL (
                SELECT n AS first, least(n + 9, p.last_sequence) AS last
                FROM generate_series(1, p.last_sequence, 10) AS n
            ) k
            """,
            """
            INSERT INTO feed_tenant (tenant_id, last_position, last_occurred_at)
            SELECT \(tenantID), sum(last_sequence), now() FROM session_progress
            """,
        ]
    }
}
