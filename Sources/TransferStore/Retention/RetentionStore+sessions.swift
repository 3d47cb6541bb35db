package import Foundation
import Postgres
package import TransferModel

/// The end of idle sessions, and the final removal of ended ones and of deleted subscriptions.
extension RetentionStore {
    /// The number of sessions examined by one call.
    static let sessionRetentionMax = 100
    /// The number of subscriptions from which one call removes no further session.
    package static let sessionSubscriptionsMax = 1000
    /// The number of rows of a deleted subscription that one call removes from each table.
    static let subscriptionRowsMax = 1000

    /// Examines a batch of sessions, and removes those that ended before `retention` and have no
    /// task or event left, with their counters and the cursors of their subscribers.
    ///
    /// A subscriber that has not received everything is told so, as by
    /// ``DeliveryStore/recordExpired(_:lease:)``. The log of their deliveries is removed with the
    /// events, by ``pruneDeliveryLog(olderThan:after:notAfter:)``. Sessions behind one with which
    /// `subscriptionsMax` subscriptions are reached are left for the next call.
    package func pruneSessions(
        endedBefore retention: Duration,
        after position: SessionID?,
        notAfter latest: Date? = nil,
        subscriptionsMax: Int = Self.sessionSubscriptionsMax
    ) async throws(StoreError) -> Sweep<SessionID> {
        let rows = try await database.run(
            """
            WITH page AS MATERIALIZED (
                SELECT s.id, s.tenant_id, s.client, s.identifier, s.invalidated_at FROM session s
                WHERE s.id > \(position?.uuid ?? UUID.zero)
                    AND \(PartitionStore.isElected(for: .sessions))
                ORDER BY s.id LIMIT \(Self.sessionRetentionMax)
            ),
            ended AS MATERIALIZED (
                SELECT s.id, s.tenant_id, s.client, s.identifier, (
                    SELECT count(*) FROM (
                        SELECT b.id FROM (\(Fragment.selectSubscriptions("b.id"))) b
                        LIMIT \(subscriptionsMax)) b) AS subscriptions
                FROM page s
                WHERE s.invalidated_at < least(now(), \(latest))
                        - \(retention.milliseconds) * interval '1 ms'
                    AND \(Self.isNothingKept(ofSession: "s.id", tenant: "s.tenant_id"))
            ),
            chosen AS MATERIALIZED (
                SELECT e.id, e.tenant_id, e.client, e.identifier FROM (
                    SELECT x.*,
                        sum(x.subscriptions) OVER (ORDER BY x.id) - x.subscriptions AS before
                    FROM ended x) e
                WHERE e.before < \(subscriptionsMax)
            ),
            pair AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id FROM chosen s
                -- Those of deleted subscriptions go with these.
                CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id"))) b
                CROSS JOIN LATERAL (
                    SELECT d.subscription_id, d.session_id FROM delivery d
                    WHERE d.subscription_id = b.id AND d.session_id = s.id LIMIT 1) d
            ),
            -- By their keys: one that is being written meanwhile has another place then.
            cursor_row AS (
                DELETE FROM delivery d USING pair p
                WHERE \(Fragment.isDelivery(of: "p.subscription_id", in: "p.session_id"))
                RETURNING d.subscription_id, d.session_id, d.acknowledged_sequence
            ),
            lost AS MATERIALIZED (
                SELECT r.subscription_id, r.session_id, b.tenant_id, s.client, s.identifier,
                    r.acknowledged_sequence + 1 AS first, p.last_sequence AS last
                FROM cursor_row r
                JOIN session_progress p ON p.session_id = ANY (ARRAY[r.session_id])
                JOIN subscription b ON b.id = ANY (ARRAY[r.subscription_id])
                JOIN session s ON s.id = ANY (ARRAY[r.session_id])
                WHERE p.last_sequence > r.acknowledged_sequence
                    AND \(DeliveryStore.isAskedFor(ofSession: "r.session_id"))
            ),
            \(DeliveryStore.tellOfExpired),
            count_row AS (
                DELETE FROM session_task_count
                WHERE session_id = ANY (ARRAY(SELECT c.id FROM chosen c))
            ),
            credential_row AS (
                DELETE FROM session_credential
                WHERE session_id = ANY (ARRAY(SELECT c.id FROM chosen c))
            ),
            feed_row AS (
                DELETE FROM feed_session
                WHERE session_id = ANY (ARRAY(SELECT c.id FROM chosen c))
            ),
            progress_row AS (
                DELETE FROM session_progress
                WHERE session_id = ANY (ARRAY(SELECT c.id FROM chosen c))
            ),
            session_row AS (
                DELETE FROM session WHERE id = ANY (ARRAY(SELECT c.id FROM chosen c))
            )
            SELECT p.id, (SELECT count(*) FROM chosen) AS removed,
                CASE WHEN x.is_cut THEN \(Int64(Self.sessionRetentionMax))
                    ELSE (SELECT count(*) FROM page) END AS looked_at
            FROM page p CROSS JOIN (
                SELECT (SELECT count(*) FROM ended) > (SELECT count(*) FROM chosen) AS is_cut
            ) x
            WHERE NOT x.is_cut OR p.id <= (SELECT c.id FROM chosen c ORDER BY c.id DESC LIMIT 1)
            ORDER BY p.id DESC LIMIT 1
            """
        )
        return try Sweep(rows, limit: Self.sessionRetentionMax) { row throws(StoreError) in
            try row.session("id")
        }
    }

    /// Examines a batch of sessions, and ends the ephemeral ones to which nothing has happened for
    /// `idle` and of which no task is outstanding: their clients are gone and will not end them.
    package func endIdleSessions(
        idle: Duration,
        after position: SessionID?,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Sweep<SessionID> {
        let rows = try await database.run(
            """
            WITH page AS MATERIALIZED (
                SELECT s.id, s.kind, s.invalidated_at, s.created_at FROM session s
                WHERE s.id > \(position?.uuid ?? UUID.zero)
                    AND \(PartitionStore.isElected(for: .idleSessions))
                ORDER BY s.id LIMIT \(Self.sessionRetentionMax)
            ),
            idle AS MATERIALIZED (
                SELECT p.id, c.last_sequence FROM page p
                CROSS JOIN LATERAL (
                    SELECT x.last_sequence, x.outstanding FROM session_progress x
                    WHERE x.session_id = p.id LIMIT 1) c
                WHERE p.kind = 'ephemeral' AND p.invalidated_at IS NULL AND c.outstanding = 0
                    AND coalesce(
                        (SELECT r.occurred_at FROM event_run r WHERE r.session_id = p.id
                            ORDER BY r.last_sequence DESC LIMIT 1),
                        p.created_at)
                        < least(now(), \(latest)) - \(idle.milliseconds) * interval '1 ms'
            ),
            counter AS (
                UPDATE session_progress p SET
                    is_invalidated = true, is_finishing = false,
                    last_sequence = p.last_sequence + 1
                FROM idle i
                -- Not one to which something has happened meanwhile.
                WHERE p.session_id = ANY (ARRAY[i.id]) AND p.last_sequence = i.last_sequence
                    AND NOT p.is_invalidated
                RETURNING p.session_id, p.generation, p.last_sequence - 1 AS base, true AS is_ended
            ),
            \(SessionStore.tellInvalidated()),
            \(SessionStore.endSessions),
            \(Fragment.wake)
            SELECT p.id, (SELECT count(*) FROM counter) AS removed,
                (SELECT count(*) FROM page) AS looked_at
            FROM page p ORDER BY p.id DESC LIMIT 1
            """
        )
        return try Sweep(rows, limit: Self.sessionRetentionMax) { row throws(StoreError) in
            try row.session("id")
        }
    }

    /// Whether nothing mentions a session any more, and no work is left for it, by one look-up in
    /// each table.
    private static func isNothingKept(ofSession session: Query, tenant: Query) -> Query {
        """
        (SELECT t.id FROM task t WHERE t.session_id = \(session) LIMIT 1) IS NULL
        AND (SELECT x.task_id FROM expired_task x
            WHERE x.session_id = \(session) LIMIT 1) IS NULL
        AND (SELECT r.last_sequence FROM event_run r
            WHERE r.session_id = \(session) LIMIT 1) IS NULL
        AND (SELECT m.session_id FROM task_move m
            WHERE m.tenant_id = \(tenant) AND m.session_id = \(session) LIMIT 1) IS NULL
        AND (SELECT x.session_id FROM cancellation x WHERE x.session_id = \(session)) IS NULL
        AND (SELECT x.session_id FROM erasure x WHERE x.session_id = \(session)) IS NULL
        """
    }

    /// Removes a part of the subscription that was deleted first, if that was before `retention`:
    /// its cursors and the log of its deliveries, and then the subscription itself.
    ///
    /// - Returns: whether there was one; false also when another instance is doing this.
    package func pruneSubscriptions(
        deletedBefore retention: Duration,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            """
            WITH gone AS MATERIALIZED (
                SELECT b.id FROM subscription b
                WHERE b.deleted_at < least(now(), \(latest))
                        - \(retention.milliseconds) * interval '1 ms'
                    AND \(PartitionStore.isElected(for: .subscriptions))
                ORDER BY b.deleted_at LIMIT 1
            ),
            pair AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id FROM delivery d
                WHERE d.subscription_id = (SELECT g.id FROM gone g)
                LIMIT \(Self.subscriptionRowsMax)
            ),
            -- By their keys: one that is being written meanwhile has another place then.
            cursor_row AS (
                DELETE FROM delivery d USING pair p
                WHERE \(Fragment.isDelivery(of: "p.subscription_id", in: "p.session_id"))
            ),
            logged AS MATERIALIZED (
                SELECT l.id FROM delivery_log l
                WHERE l.subscription_id = (SELECT g.id FROM gone g)
                LIMIT \(Self.subscriptionRowsMax)
            ),
            log_row AS (
                DELETE FROM delivery_log WHERE id = ANY (ARRAY(SELECT l.id FROM logged l))
            )
            SELECT g.id, (SELECT count(*) FROM pair) < \(Self.subscriptionRowsMax)
                AND (SELECT count(*) FROM logged) < \(Self.subscriptionRowsMax) AS is_last
            FROM gone g
            """
        )
        guard let row = rows.first else { return false }
        if try row.decode("is_last") {
            try await removeSubscription(try row.subscription("id"))
        }
        return true
    }

    /// Removes a deleted subscription that has no cursor and no logged delivery left.
    ///
    /// Whoever records a try of a delivery holds its cursor, and so has done that before the cursor
    /// was removed; only a later statement than that removal sees it. What was logged is left for
    /// the next call.
    private func removeSubscription(_ subscription: SubscriptionID) async throws(StoreError) {
        let id: Query = "\(subscription.uuid)"
        _ = try await database.run(
            """
            WITH gone AS MATERIALIZED (
                SELECT b.id FROM subscription b
                WHERE b.id = \(id) AND num_nulls(b.deleted_at) = 0
                    AND (SELECT d.session_id FROM delivery d
                        WHERE d.subscription_id = \(id) LIMIT 1) IS NULL
                    AND (SELECT l.id FROM delivery_log l
                        WHERE l.subscription_id = \(id) LIMIT 1) IS NULL
            ),
            streak_row AS (
                DELETE FROM failure_streak WHERE subscription_id = (SELECT g.id FROM gone g)
            ),
            wake_up_row AS (
                DELETE FROM wake_up WHERE subscription_id = (SELECT g.id FROM gone g)
            ),
            secret_row AS (
                DELETE FROM signing_secret WHERE subscription_id = (SELECT g.id FROM gone g)
            )
            DELETE FROM subscription WHERE id = (SELECT g.id FROM gone g)
            """
        )
    }
}
