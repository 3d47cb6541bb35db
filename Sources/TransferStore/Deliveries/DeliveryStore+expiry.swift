import Foundation
import Postgres
package import TransferModel

extension DeliveryStore {
    /// Moves a delivery's cursor past the next events if they are no longer kept, and reports that.
    ///
    /// The cursor, the log's row and the event are written together, so that the loss is reported
    /// exactly once. Delivered events must be recorded before, or they are reported as expired.
    ///
    /// - Returns: the new position of the cursor, even if unchanged; nil when the claim is stale.
    package func recordExpired(
        _ claim: DeliveryClaim,
        lease: Duration
    ) async throws(StoreError) -> Int64? {
        let rows = try await database.run(
            """
            WITH held AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id, d.acknowledged_sequence FROM delivery d
                WHERE d.subscription_id = \(claim.subscription.uuid)
                    AND d.session_id = \(claim.session.uuid) AND d.fence = \(claim.fence.rawValue)
                FOR UPDATE
            ),
            gap AS MATERIALIZED (
                SELECT h.*, coalesce(
                    (\(EventRuns.selectOldest(
                        "greatest(r.first_sequence, h.acknowledged_sequence + 1)",
                        of: "\(claim.session.uuid)",
                        after: "h.acknowledged_sequence"
                    ))),
                    (SELECT p.last_sequence + 1 FROM session_progress p
                        WHERE p.session_id = \(claim.session.uuid)),
                    1) - 1 AS last
                FROM held h
            ),
            moved AS (
                UPDATE delivery d SET
                    acknowledged_sequence = g.last, \(DeliveryClaim.forgetTries),
                    last_error = NULL, attempted_at = clock_timestamp(),
                    due_at = clock_timestamp() + \(lease.milliseconds) * interval '1 ms'
                FROM gap g
                WHERE d.subscription_id = \(claim.subscription.uuid)
                    AND d.session_id = \(claim.session.uuid) AND g.last > g.acknowledged_sequence
                RETURNING g.subscription_id, g.session_id, g.acknowledged_sequence + 1 AS first,
                    g.last
            ),
            lost AS MATERIALIZED (
                SELECT m.subscription_id, m.session_id, b.tenant_id,
                    coalesce(s.client, c.identifier) AS client, s.identifier, m.first, m.last
                FROM moved m
                JOIN subscription b ON b.id = ANY (ARRAY[m.subscription_id])
                LEFT JOIN session s ON s.id = ANY (ARRAY[m.session_id])
                LEFT JOIN client c ON c.id = ANY (ARRAY[m.session_id])
                WHERE \(Self.isAskedFor(ofSession: "m.session_id"))
            ),
            \(Self.tellOfExpired)
            SELECT greatest(g.acknowledged_sequence, g.last) AS cursor FROM gap g
            """
        )
        return try rows.first?.decode("cursor")
    }

    /// Returns whether the subscription `b` lives and may ask for events of a session or a client,
    /// or of its tenant.
    ///
    /// The kinds of the lost events are no longer known.
    static func isAskedFor(ofSession session: Query) -> Query {
        """
        \(Fragment.isLivingSubscriptionByKey) AND (b.event_types IS NULL OR EXISTS (
            SELECT 1 FROM unnest(b.event_types) AS x (term)
            WHERE (x.term LIKE 'subscription.%') = (\(session) = b.tenant_id)))
        """
    }

    /// Logs expired events, and writes `subscription.events_expired` for the subscription concerned
    /// and for the tenant-wide subscriptions.
    ///
    /// Expects `lost(subscription_id, session_id, tenant_id, client, identifier, first, last)`. The
    /// loss of the tenant's own events is not reported by an event, because each of those that
    /// expires would create another one.
    static let tellOfExpired: Query = """
        expired_row AS (
            INSERT INTO delivery_log AS l (
                id, subscription_id, session_id, sequence, batch_first, state, died_at)
            SELECT \(newIdentifier), subscription_id, session_id, last, first, 'expired',
                clock_timestamp()
            FROM lost
            -- The last of them was being tried.
            ON CONFLICT (subscription_id, session_id, sequence) DO UPDATE SET
                state = excluded.state, died_at = excluded.died_at, batch_id = NULL,
                batch_first = excluded.batch_first, event_count = DEFAULT,
                replay_due_at = NULL, replay_fence = NULL
        ),
        told AS MATERIALIZED (
            SELECT l.*, row_number() OVER (
                PARTITION BY l.tenant_id ORDER BY l.session_id, l.subscription_id) AS number
            FROM lost l WHERE l.session_id <> l.tenant_id
        ),
        counter AS (
            INSERT INTO session_progress AS p (session_id, last_sequence)
            SELECT tenant_id, count(*) FROM told GROUP BY tenant_id ORDER BY tenant_id
            ON CONFLICT (session_id)
            DO UPDATE SET last_sequence = p.last_sequence + excluded.last_sequence
            RETURNING p.session_id, p.last_sequence
        ),
        news AS MATERIALIZED (
            SELECT c.session_id, c.last_sequence - (
                SELECT count(*) FROM told t WHERE t.tenant_id = c.session_id) AS base
            FROM counter c
        ),
        event_row AS (
            \(EventRuns.insertEvents("""
                SELECT n.session_id, n.base + t.number, 'subscription.events_expired', 0,
                    clock_timestamp(), jsonb_build_object(
                        'subscription_id', t.subscription_id, 'session_id', t.session_id,
                        'client', t.client, 'session_identifier', t.identifier,
                        'first_sequence', t.first, 'last_sequence', t.last)
                FROM news n JOIN told t ON t.tenant_id = n.session_id
                ORDER BY n.session_id, t.number
                """))
        ),
        news_row AS (\(Feed.recordNews("SELECT session_id, session_id FROM counter"))),
        wake AS (
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT b.id, n.session_id, n.base, now()
            FROM news n
            JOIN subscription b ON b.is_living AND b.tenant_id = ANY (ARRAY[n.session_id])
                AND b.client IS NULL AND b.session_identifier IS NULL
            ORDER BY n.session_id, b.id
            ON CONFLICT (subscription_id, session_id)
            DO UPDATE SET due_at = now() WHERE delivery.due_at IS NULL
        ),
        -- One for a client or a session gets of the tenant's events those about itself alone: what
        -- lies before them is not its own.
        own_wake AS (
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT b.id, n.session_id, n.base, now()
            FROM news n
            JOIN (SELECT DISTINCT tenant_id, subscription_id FROM told) t
                ON t.tenant_id = n.session_id
            JOIN subscription b ON b.id = ANY (ARRAY[t.subscription_id]) AND b.client IS NOT NULL
            ORDER BY n.session_id, b.id
            ON CONFLICT (subscription_id, session_id)
            DO UPDATE SET
                due_at = now(), acknowledged_sequence = excluded.acknowledged_sequence
            WHERE delivery.due_at IS NULL
        )
        """

    /// A UUID of version 7 (RFC 9562 §5.7) for each row, by the database's clock; apart from time
    /// and version it is one of version 4.
    private static let newIdentifier: Query = """
        (\(RetentionStore.identifierTime(of: "clock_timestamp()")) || '7'
            || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid
        """
}
