import Postgres
import TransferModel

/// Fragments for `session.events_pending`; each names the CTEs it expects.
extension Fragment {
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
                'waiting_to_begin', count(*) FILTER (WHERE task_state = 'waiting_to_begin'),
                'waiting_for_authentication',
                    count(*) FILTER (WHERE task_state = 'waiting_for_authentication'),
                'tasks', (array_agg(task_id ORDER BY task_id))[
                    :\(Int32(SessionEvent.PendingTasks.listedMax))]) AS details
            FROM (
                SELECT q.task_id, \(CountStore.state(ofAsked: "q")) AS task_state
                FROM asked q WHERE q.session_id = c.session_id
                UNION ALL \(more)
            ) waiting
        ) pending
        """
    }

    /// Returns the statement that tells a client launched by this transaction which tasks need it,
    /// once for each session.
    static func tellPending(of client: ClientID, _ tenant: TenantID) -> Query {
        """
        WITH locked AS MATERIALIZED (
            SELECT p.session_id
            FROM session s JOIN session_progress p ON p.session_id = ANY (ARRAY[s.id])
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                AND EXISTS (SELECT 1 FROM asked q WHERE q.session_id = s.id)
                AND EXISTS (
                    SELECT 1 FROM client x WHERE x.tenant_id = s.tenant_id
                        AND x.identifier = s.client
                        -- This transaction has launched it, and not one of the same microsecond.
                        AND x.xmin = pg_current_xact_id()::xid)
            ORDER BY s.id FOR UPDATE OF p
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
        news_row AS (\(recordNews(ofSessions: "SELECT session_id FROM counter"))),
        \(wake)
        SELECT session_id FROM counter
        """
    }
}
