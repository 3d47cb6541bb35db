import Foundation
import Postgres
package import TransferModel

extension DeliveryStore {
    /// Moves a delivery's cursor past the next events if they are no longer kept, and reports that.
    ///
    /// The cursor, the log's row and the event are written together, so that the loss is reported
    /// exactly once. Delivered events must be recorded before, or they are reported as expired.
    ///
    /// A cursor beyond the end of its log, as after a failover or in a restored backup, moves back
    /// before all events that are kept: nobody knows which of them were delivered.
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
            \(Self.tellOfExpired),
            \(Self.moveBack(claim))
            SELECT coalesce((SELECT b.acknowledged_sequence FROM back b),
                greatest(g.acknowledged_sequence, g.last)) AS cursor
            FROM gap g
            """
        )
        return try rows.first?.decode("cursor")
    }

    /// Returns the CTE `back`, which moves a cursor back that is beyond the end of its log; expects
    /// `gap`.
    private static func moveBack(_ claim: DeliveryClaim) -> Query {
        let before = EventRuns.selectOldest("r.first_sequence - 1", of: "\(claim.session.uuid)")
        return """
            back AS (
                UPDATE delivery d SET
                    acknowledged_sequence = coalesce((\(before)), p.last_sequence),
                    \(DeliveryClaim.forgetTries)
                FROM gap g JOIN session_progress p ON p.session_id = ANY (ARRAY[g.session_id])
                WHERE d.subscription_id = \(claim.subscription.uuid)
                    AND d.session_id = \(claim.session.uuid) AND d.fence = \(claim.fence.rawValue)
                    AND g.last < g.acknowledged_sequence
                RETURNING d.acknowledged_sequence
            )
            """
    }

    /// The most runs of events of a pair that are looked at before its turn.
    private static let unaskedRunsMax: Int64 = 16

    /// Moves the cursors of claimed deliveries past all of their events, where none of these is
    /// asked for, and makes them idle; what has been tried is left out.
    ///
    /// The counters of each session are locked once for all of them, and not waited for: where
    /// somebody is writing events, the delivery has its turn as any other.
    ///
    /// - Returns: the fences of those claims, which have ended.
    package func passUnasked(_ claims: [DeliveryClaim]) async throws(StoreError) -> Set<Fence> {
        // If the change is lost, their leases end the claims.
        let rows = try await database.run(
            [.unsynced],
            """
            WITH unasked AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id, d.fence, p.last_sequence
                FROM unnest(
                    \(claims.map(\.subscription.uuid)), \(claims.map(\.session.uuid)),
                    \(claims.map(\.fence.rawValue))
                ) AS x (subscription_id, session_id, fence)
                JOIN delivery d
                    ON \(Fragment.isDelivery(of: "x.subscription_id", in: "x.session_id"))
                    AND d.fence = x.fence
                JOIN subscription b ON b.id = ANY (ARRAY[x.subscription_id])
                JOIN session_progress p ON p.session_id = ANY (ARRAY[x.session_id])
                CROSS JOIN LATERAL (\(Self.selectUnasked)) e
                -- All of them are kept and known.
                WHERE e.unasked = p.last_sequence - d.acknowledged_sequence
                    AND b.event_types IS NOT NULL AND d.launches_after IS NULL
                    AND d.attempt = 0 AND d.tried_sequence IS NULL
            ),
            locked AS MATERIALIZED (
                SELECT p.session_id, p.last_sequence FROM session_progress p
                WHERE p.session_id = ANY (ARRAY(SELECT u.session_id FROM unasked u))
                FOR NO KEY UPDATE SKIP LOCKED
            ),
            passed AS (
                UPDATE delivery d SET
                    acknowledged_sequence = u.last_sequence, last_error = NULL,
                    attempted_at = clock_timestamp(), due_at = NULL, worker = NULL, fence = NULL
                FROM unasked u
                -- Nothing has been written since the events were read, nor is until the commit.
                JOIN locked l ON l.session_id = u.session_id
                    AND l.last_sequence = u.last_sequence
                WHERE \(Fragment.isDelivery(of: "u.subscription_id", in: "u.session_id"))
                    AND d.fence = u.fence
                RETURNING u.subscription_id, u.fence
            ),
            -- Where one was to be a probe and sends nothing, the next one is.
            unprobed AS MATERIALIZED (
                SELECT f.subscription_id FROM failure_streak f
                WHERE f.subscription_id = ANY (ARRAY(SELECT p.subscription_id FROM passed p))
                    AND f.probe_fence = ANY (ARRAY(SELECT p.fence FROM passed p))
                FOR NO KEY UPDATE SKIP LOCKED
            ),
            freed AS (
                UPDATE failure_streak f SET paused_until = clock_timestamp(), probe_fence = NULL
                FROM unprobed n
                WHERE f.subscription_id = ANY (ARRAY[n.subscription_id])
            )
            SELECT p.fence FROM passed p
            """
        )
        return try Set(rows.map { row throws(StoreError) in try row.fence("fence") })
    }

    /// Selects the number of a delivery's `d` next events of which its subscription `b`, which
    /// lists kinds, asks for none.
    ///
    /// A family is taken for all of its kinds.
    private static let selectUnasked: Query = """
        SELECT coalesce(sum(
            r.last_sequence - greatest(r.first_sequence, d.acknowledged_sequence + 1) + 1
        ) FILTER (WHERE r.kind = ANY (\(SessionEvent.Kind.allCases.map(\.rawValue)))
            AND NOT r.kind = ANY (b.event_types)
            AND NOT split_part(r.kind, '.', 1) || '.*' = ANY (b.event_types)), 0) AS unasked
        FROM (
            SELECT x.first_sequence, x.last_sequence, x.kind FROM event_run x
            WHERE x.session_id = d.session_id AND x.last_sequence > d.acknowledged_sequence
            ORDER BY x.last_sequence LIMIT \(unaskedRunsMax)
        ) r
        """

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
            SELECT b.id, b.log, b.base, now() FROM \(Fragment.subscriptions(to: "news c")) b
            ORDER BY b.log, b.id
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
