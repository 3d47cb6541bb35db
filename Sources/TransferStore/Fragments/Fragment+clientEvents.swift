import Postgres

/// Fragments for the logs of clients; each names the CTEs it expects.
extension Fragment {
    /// The CTEs that number and write events in clients' own logs, and make their deliveries due.
    ///
    /// Expects `happening(client_id, place, kind, subject, details)` and that the rows of the clients
    /// are locked; offers `numbered(client_id, subject, kind, sequence)`.
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
        news_row AS (\(recordNews("""
            SELECT x.tenant_id, c.session_id FROM counter c
            JOIN client x ON x.id = ANY (ARRAY[c.session_id])
            """))),
        wake AS (
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT b.id, c.session_id, c.last_sequence - x.events, now()
            FROM counter c JOIN change x ON x.client_id = c.session_id
            CROSS JOIN LATERAL (
                SELECT tenant_id, identifier AS client, NULL::text AS identifier
                FROM client WHERE id = c.session_id LIMIT 1
            ) s
            CROSS JOIN LATERAL (\(selectSubscriptions("b.id"))) b
            ORDER BY c.session_id, b.id
            ON CONFLICT (subscription_id, session_id)
            DO UPDATE SET due_at = now() WHERE delivery.due_at IS NULL
        )
        """
}
