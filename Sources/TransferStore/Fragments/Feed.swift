import Postgres

/// SQL for the feed of a tenant: the events of all its logs in one order.
enum Feed {
    /// Returns the statement that says which logs have new events, for statements that move no task
    /// of theirs; ``CountStore/recordMoves(_:)`` says it for all others.
    ///
    /// Expects `logs` to select `(tenant_id, session_id)`.
    static func recordNews(_ logs: Query) -> Query {
        """
        INSERT INTO task_move (tenant_id, session_id, tasks, bytes_received, bytes_sent)
        SELECT l.tenant_id, l.session_id, 1, 0, 0 FROM (\(logs)) l (tenant_id, session_id)
        """
    }

    /// Returns ``recordNews(_:)`` for the sessions of the CTE `sessions`.
    static func recordNews(ofSessions sessions: Query) -> Query {
        recordNews(
            """
            SELECT s.tenant_id, c.session_id FROM (\(sessions)) c (session_id)
            JOIN session s ON s.id = ANY (ARRAY[c.session_id])
            """
        )
    }

    /// The CTEs that add to the feed what is new in logs.
    ///
    /// A log's counter tells its newest event, the row of `feed_session` the newest one in the
    /// feed. That row's lock gives each event one position, and the lock of the tenant's end, held
    /// until the commit, makes positions appear in their order. Logs are locked before tenants,
    /// both in the order of their keys, so that two such statements never deadlock.
    ///
    /// Expects `news(tenant_id, session_id)`, each log once; offers `feed_end(tenant_id,
    /// last_position)` for tenants with new positions.
    static let addNews: Query = """
        late AS MATERIALIZED (
            SELECT n.tenant_id, n.session_id, p.last_sequence,
                coalesce(r.first_occurred_at, now()) AS first_occurred_at,
                coalesce(r.last_occurred_at, now()) AS last_occurred_at
            FROM news n
            CROSS JOIN LATERAL (
                SELECT last_sequence FROM session_progress WHERE session_id = n.session_id LIMIT 1
            ) p
            LEFT JOIN LATERAL (
                SELECT last_sequence FROM feed_session WHERE session_id = n.session_id LIMIT 1
            ) f ON true
            CROSS JOIN LATERAL (
                SELECT min(x.occurred_at) AS first_occurred_at, max(x.occurred_at) AS last_occurred_at
                FROM event_run x
                WHERE x.session_id = n.session_id
                    AND x.last_sequence > coalesce(f.last_sequence, 0)
            ) r
            WHERE p.last_sequence > coalesce(f.last_sequence, 0)
        ),
        added AS (
            INSERT INTO feed_session AS f (session_id, first_sequence, last_sequence)
            SELECT session_id, 1, last_sequence FROM late ORDER BY session_id
            ON CONFLICT (session_id) DO UPDATE SET
                first_sequence = f.last_sequence + 1, last_sequence = excluded.last_sequence
            -- Another statement may have added more since this one's snapshot.
            WHERE f.last_sequence < excluded.last_sequence
            RETURNING session_id, first_sequence, last_sequence - first_sequence + 1 AS length
        ),
        placed AS MATERIALIZED (
            SELECT l.tenant_id, a.session_id, a.first_sequence, a.length, l.first_occurred_at,
                l.last_occurred_at,
                sum(a.length) OVER (
                    PARTITION BY l.tenant_id ORDER BY l.first_occurred_at, a.session_id)::bigint
                    AS through,
                sum(a.length) OVER (PARTITION BY l.tenant_id)::bigint AS total
            FROM added a JOIN late l USING (session_id)
        ),
        feed_end AS (
            INSERT INTO feed_tenant AS f (tenant_id, last_position, last_occurred_at)
            SELECT tenant_id, total, max(last_occurred_at) FROM placed
            GROUP BY tenant_id, total ORDER BY tenant_id
            ON CONFLICT (tenant_id) DO UPDATE SET
                last_position = f.last_position + excluded.last_position,
                -- Not after a time from a clock that was set ahead.
                last_occurred_at = CASE WHEN f.last_occurred_at <= clock_timestamp()
                    THEN greatest(f.last_occurred_at, excluded.last_occurred_at)
                    ELSE excluded.last_occurred_at END
            RETURNING tenant_id, last_position, last_occurred_at
        ),
        feed_row AS (
            INSERT INTO event_feed (
                tenant_id, last_position, first_position, session_id, first_sequence,
                first_occurred_at, last_occurred_at)
            SELECT p.tenant_id, e.last_position - p.total + p.through,
                e.last_position - p.total + p.through - p.length + 1, p.session_id,
                p.first_sequence, p.first_occurred_at,
                greatest(e.last_occurred_at, p.last_occurred_at)
            FROM placed p JOIN feed_end e USING (tenant_id)
        )
        """

    /// Returns the query for the first rows of a tenant's feed behind `position`, at most as many
    /// as a page of `limit` events can need.
    static func selectRows(of tenant: Query, after position: Query, limit: Query) -> Query {
        """
        SELECT x.first_position, x.last_position, x.session_id, x.first_sequence,
            x.first_occurred_at, x.last_occurred_at
        FROM event_feed x
        WHERE x.tenant_id = \(tenant) AND x.last_position > \(position)
        ORDER BY x.last_position LIMIT \(limit)
        """
    }

    /// Returns the query for the events at the `limit` positions behind `position` in a tenant's
    /// feed, with their positions; those that are kept no longer are left out.
    ///
    /// A position leads to a session and a number in it, and these to the run, in the partitions of
    /// the row's time.
    static func selectEvents(of tenant: Query, after position: Query, limit: Query) -> Query {
        """
        SELECT f.first_position + k.sequence - f.first_sequence AS position, \(EventRuns.columns)
        FROM (\(selectRows(of: tenant, after: position, limit: limit))) f
        CROSS JOIN LATERAL (
            SELECT f.first_sequence + greatest(\(position) + 1 - f.first_position, 0) AS first,
                f.first_sequence + least(f.last_position, \(position) + \(limit))
                    - f.first_position AS last
        ) w
        CROSS JOIN LATERAL (
            SELECT x.* FROM event_run x
            WHERE f.first_position <= \(position) + \(limit) AND x.session_id = f.session_id
                AND x.last_sequence BETWEEN w.first AND w.last + \(Int64(EventRuns.lengthMax) - 1)
                AND x.first_sequence <= w.last
                AND x.occurred_at BETWEEN f.first_occurred_at AND f.last_occurred_at
            LIMIT \(limit)
        ) r
        CROSS JOIN LATERAL generate_series(
            greatest(r.first_sequence, w.first), least(r.last_sequence, w.last)) AS k (sequence)
        \(EventRuns.joinPlace)
        """
    }
}
