import Postgres
import TransferModel

/// What clients are told beside the ends of their tasks: in logs of their own, and, by
/// `session.events_pending`, that tasks need them. Each part names the CTEs it expects.
extension EventRuns {
    /// The CTEs that number and write events in clients' own logs, and make their deliveries due.
    ///
    /// Expects `happening(client_id, place, kind, subject, details)` and that the rows of the
    /// clients are locked; offers `numbered(client_id, subject, kind, sequence)`.
    static let recordClientEvents: Query = """
        change AS (
            SELECT client_id, count(*) AS events FROM happening GROUP BY client_id
        ),
        counter AS (
            INSERT INTO session_progress AS p (session_id, last_sequence)
            SELECT client_id, events FROM change ORDER BY client_id
            ON CONFLICT (session_id)
            DO UPDATE SET last_sequence = p.last_sequence + excluded.last_sequence
            -- The clock is read under the lock, so that time increases with the sequence.
            RETURNING p.session_id, p.last_sequence, clock_timestamp() AS occurred_at
        ),
        numbered AS MATERIALIZED (
            SELECT h.client_id, h.subject, h.kind, h.details, c.occurred_at,
                c.last_sequence - x.events
                    + row_number() OVER (PARTITION BY h.client_id ORDER BY h.place) AS sequence
            FROM happening h
            JOIN change x ON x.client_id = h.client_id
            JOIN counter c ON c.session_id = h.client_id
        ),
        event_row AS (
            \(insertEvents("SELECT client_id, sequence, kind, 0, occurred_at, details FROM numbered"))
        ),
        news_row AS (\(Feed.recordNews("""
            SELECT x.tenant_id, c.session_id FROM counter c
            JOIN client x ON x.id = ANY (ARRAY[c.session_id])
            """))),
        wake AS (
            INSERT INTO delivery (
                subscription_id, session_id, acknowledged_sequence, launches_after, due_at)
            SELECT b.id, b.log, b.base, b.base, now()
            FROM \(Fragment.subscriptions(to: """
                (SELECT p.session_id, p.last_sequence - x.events AS base
                FROM counter p JOIN change x ON x.client_id = p.session_id) c
                """)) b
            ORDER BY b.log, b.id
            ON CONFLICT (subscription_id, session_id)
            DO UPDATE SET due_at = now() WHERE delivery.due_at IS NULL
        )
        """

    /// The states in which a task needs its client.
    static let needsClient: Query = """
        task_state IN ('waiting_to_begin', 'waiting_for_authentication')
        """

    /// Returns the details of the event for a session of `counter` `c`, as `pending(details)`: the
    /// tasks that already wait, and those that `more` (task_id, task_state) adds.
    static func joinPending(_ more: Query = "SELECT NULL::uuid, NULL::task_state WHERE false")
        -> Query
    {
        """
        CROSS JOIN LATERAL (
            SELECT jsonb_build_object(
                'waiting_to_begin',
                    coalesce(sum(tasks) FILTER (WHERE state = 'waiting_to_begin'), 0),
                'waiting_for_authentication',
                    coalesce(sum(tasks) FILTER (WHERE state = 'waiting_for_authentication'), 0),
                'tasks', ARRAY(
                    SELECT k.task_id FROM (
                        (SELECT q.task_id FROM asked q WHERE q.session_id = c.session_id
                            ORDER BY q.task_id LIMIT \(SessionEvent.PendingTasks.listedMax))
                        UNION ALL SELECT m.task_id FROM (\(more)) m (task_id, task_state)
                    ) k
                    ORDER BY k.task_id LIMIT \(SessionEvent.PendingTasks.listedMax))) AS details
            FROM (
                SELECT k.state, k.tasks FROM session s
                CROSS JOIN LATERAL (\(CountStore.selectCountsOfSession)) k
                WHERE s.id = c.session_id
                UNION ALL SELECT m.task_state, 1 FROM (\(more)) m (task_id, task_state)
            ) waiting
        ) pending
        """
    }

    /// Returns the statement that tells a client launched by this transaction which tasks need it,
    /// once for each session.
    static func tellPending(of client: ClientID, _ tenant: TenantID) -> Query {
        """
        WITH living AS MATERIALIZED (
            \(ClientStore.selectLiving("x.id", of: client, tenant))
        ),
        locked AS MATERIALIZED (
            SELECT p.session_id FROM session_progress p
            WHERE p.session_id = ANY (ARRAY(
                    SELECT l.id FROM living l WHERE (
                        SELECT q.task_id FROM asked q WHERE q.session_id = l.id LIMIT 1
                    ) IS NOT NULL))
                AND EXISTS (
                    SELECT 1 FROM client x
                    WHERE x.tenant_id = \(tenant.uuid) AND x.identifier = \(client.name)
                        -- This transaction has launched it, and not one of the same microsecond.
                        AND x.xmin = pg_current_xact_id()::xid)
            ORDER BY p.session_id FOR UPDATE OF p
        ),
        counter AS (
            UPDATE session_progress p
            SET is_pending_told = true, last_sequence = p.last_sequence + 1
            FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
            RETURNING p.session_id, p.generation, p.last_sequence - 1 AS base,
                clock_timestamp() AS occurred_at
        ),
        event_row AS (
            \(insertEvents("""
                SELECT c.session_id, c.base + 1, 'session.events_pending', c.generation,
                    c.occurred_at, pending.details
                FROM counter c \(joinPending())
                """))
        ),
        news_row AS (\(Feed.recordNews(ofSessions: "SELECT session_id FROM counter"))),
        \(Fragment.wake)
        SELECT session_id FROM counter
        """
    }
}

/// What tenants are told, in a log of their own.
extension EventRuns {
    /// The CTEs that write an event of a tenant and make it due to the subscriptions `b` of the
    /// whole tenant, those for which `condition` is true.
    ///
    /// Events without a session have counters and deliveries like those of a session, under the
    /// tenant's own identifier.
    ///
    /// - Parameters:
    ///   - kind: the kind of the event.
    ///   - subject: a CTE with the column `tenant_id` and at most one row.
    ///   - details: what the event says, an expression of the columns of that row, `x`.
    ///   - condition: which subscriptions are told.
    /// - Returns: `counter(session_id, base)` and what follows from it.
    static func recordTenantEvent(
        _ kind: SessionEvent.Kind,
        of subject: Query,
        details: Query,
        tells condition: Query = "true"
    ) -> Query {
        """
        counter AS (
            INSERT INTO session_progress AS p (session_id, last_sequence)
            SELECT x.tenant_id, 1 FROM \(subject) x
            ON CONFLICT (session_id) DO UPDATE SET last_sequence = p.last_sequence + 1
            RETURNING p.session_id, p.last_sequence - 1 AS base
        ),
        event_row AS (
            \(insertEvents("""
                SELECT c.session_id, c.base + 1, \(kind.rawValue), 0, clock_timestamp(), \(details)
                FROM counter c JOIN \(subject) x ON x.tenant_id = c.session_id
                """))
        ),
        news_row AS (\(Feed.recordNews("SELECT session_id, session_id FROM counter"))),
        wake AS (
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT b.id, b.log, b.base, now() FROM \(Fragment.subscriptions()) b
            WHERE \(condition) ORDER BY b.id
            ON CONFLICT (subscription_id, session_id)
            DO UPDATE SET due_at = now() WHERE delivery.due_at IS NULL
        )
        """
    }
}
