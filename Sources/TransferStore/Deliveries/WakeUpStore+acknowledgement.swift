import Foundation
import Postgres
package import TransferModel

extension WakeUpStore {
    /// Sets a `session.events_finished` that was answered with 202 to wait for its acknowledgement.
    ///
    /// Without an acknowledgement the message is sent again after `timeout`, or at once if the
    /// subscription was changed since the claim: it may have another receiver. The claim ends.
    ///
    /// - Returns: false when the claim is stale, or when the message was already acknowledged.
    package func recordAwaitingAck(
        _ claim: DeliveryClaim,
        sequence: Int64,
        attempt: DeliveryAttempt,
        timeout: Duration,
        health: DeliveryHealth = DeliveryHealth()
    ) async throws(StoreError) -> Bool {
        let cursor = claim.cursor(through: sequence - 1, certain: claim.acknowledgedSequence)
        let rows = try await database.run([
            claim.lock,
            """
            WITH held AS (
                UPDATE delivery SET
                    -- What comes before it and is not asked for need not be read again.
                    acknowledged_sequence = \(cursor),
                    \(DeliveryClaim.recordTry(of: sequence)), last_error = NULL,
                    last_status = \(attempt.status.map(Int16.init(clamping:))),
                    attempted_at = clock_timestamp(),
                    due_at = clock_timestamp() + CASE WHEN \(claim.isUnchanged)
                        THEN \(timeout.milliseconds) ELSE 0 END * interval '1 ms',
                    worker = NULL, fence = NULL
                WHERE subscription_id = \(claim.subscription.uuid)
                    AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                    AND acknowledged_sequence < \(sequence) AND \(claim.isInLog(sequence))
                RETURNING subscription_id, session_id
            ),
            \(DeliveryStore.heal(if: true, health)),
            \(DeliveryLogStore.forgetTried(claim, except: sequence)),
            \(DeliveryLogStore.logTry(attempt, of: sequence, state: .waiting))
            SELECT 1 FROM held
            """,
        ])[1]
        return !rows.isEmpty
    }

    /// Records that the subscriber that holds the token of a `session.events_finished` is done with
    /// it.
    ///
    /// A subscriber that knows the token has received the message, and so everything before it that
    /// was asked for when it was sent. A delivery that is still in progress, as between the answer
    /// and its record, loses its claim.
    ///
    /// Events that a change of `event_types` has held back before the message are passed with it if
    /// the acknowledgement comes before they were delivered: the cursor does not tell them from
    /// those that were sent and are not recorded yet.
    ///
    /// - Returns: false when no message waits for the token, or no longer.
    package func acknowledge(
        _ token: AckToken,
        tenant: TenantID,
        client: ClientID = .default,
        sessionIdentifier: String
    ) async throws(StoreError) -> Bool {
        let target: Query = """
            SELECT d.subscription_id, d.session_id, d.acknowledged_sequence, e.sequence
            FROM session s
            CROSS JOIN LATERAL (
                SELECT v.id, \(token.sequence) AS sequence FROM (\(EventRuns.select(
                    "\(EventRuns.identifier(ofEvent: "r.first_sequence")) AS id, r.kind",
                    of: "s.id",
                    holding: "\(token.sequence)"
                ))) v
                WHERE v.kind = 'session.events_finished'
            ) e
            CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id, b.ack_key"))) b
            JOIN delivery d ON \(Fragment.isDelivery(of: "b.id", in: "s.id"))
            WHERE substring(sha256(b.ack_key || uuid_send(e.id))
                    FOR \(Int32(AckToken.proofBytes))) = \(token.proof)
                AND s.id = \(token.session.uuid) AND s.tenant_id = \(tenant.uuid)
                AND s.client = \(client.name)
                AND s.identifier = \(sessionIdentifier) COLLATE "C"
            """
        let rows = try await database.run([
            """
            WITH target AS (\(target)),
            acknowledged AS (
                UPDATE delivery d SET
                    acknowledged_sequence = t.sequence, \(DeliveryClaim.forgetTries),
                    -- Looked at once more, for what has happened since.
                    due_at = clock_timestamp(), worker = NULL, fence = NULL
                FROM target t
                WHERE \(Fragment.isDelivery(of: "t.subscription_id", in: "t.session_id"))
                    AND d.acknowledged_sequence < t.sequence
                RETURNING 1
            )
            SELECT 1 FROM acknowledged
            """,
            // Its row may have been written by the record that the first statement has waited for.
            """
            WITH target AS MATERIALIZED (\(target))
            UPDATE delivery_log l SET state = 'delivered'
            FROM target t
            WHERE t.acknowledged_sequence >= t.sequence
                AND \(Fragment.isDelivery("l", of: "t.subscription_id", in: "t.session_id"))
                AND l.sequence = ANY (ARRAY[t.sequence]) AND l.state = 'waiting'
            """,
        ])
        return !rows[0].isEmpty
    }

    /// Returns the number of events of a generation before `sequence` that were not delivered to a
    /// subscription because they were given up; replays do not change the number.
    package func deadLetterCount(
        of subscription: SubscriptionID,
        session: SessionID,
        generation: Int64,
        before sequence: Int64
    ) async throws(StoreError) -> Int64 {
        let rows = try await database.run(
            """
            SELECT coalesce(sum(l.event_count), 0) AS count
            FROM delivery_log l
            CROSS JOIN LATERAL (\(EventRuns.select(
                "r.generation",
                of: "l.session_id",
                holding: "l.sequence"
            ))) e
            WHERE l.subscription_id = \(subscription.uuid) AND l.session_id = \(session.uuid)
                AND l.sequence < \(sequence) AND l.died_at IS NOT NULL
                AND e.generation = \(generation)
            """
        )
        return try rows.first?.decode("count", as: Int64.self) ?? 0
    }
}
