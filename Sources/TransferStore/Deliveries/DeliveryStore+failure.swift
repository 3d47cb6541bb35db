import Foundation
import Postgres
package import TransferModel

extension DeliveryStore {
    /// Counts a failed try of the message that ends with `sequence`, and sets the message to wait
    /// or gives it up; its claim ends.
    ///
    /// The failure also counts against the subscription, which may then be paused, or disabled with
    /// the event that reports it.
    package func recordDeliveryFailed(
        _ claim: DeliveryClaim,
        sequence: Int64,
        batch: MessageBatch? = nil,
        _ setback: DeliverySetback,
        health: DeliveryHealth = DeliveryHealth()
    ) async throws(StoreError) -> SetbackResult {
        let isDead = setback.retryAfter == nil
        let rows = try await database.run(
            """
            WITH held AS (
                UPDATE delivery SET
                    acknowledged_sequence = CASE WHEN \(isDead)
                        THEN \(sequence) ELSE acknowledged_sequence END,
                    attempt = CASE WHEN \(isDead) THEN 0 ELSE least(attempt + 1, 32767) END,
                    batch_through = \(isDead ? nil : batch?.last),
                    \(claim.keepLaunches(through: isDead ? sequence : nil)),
                    last_status = \(setback.attempt.status.map(Int16.init(clamping:))),
                    last_error = \(setback.attempt.reason),
                    attempted_at = clock_timestamp(),
                    due_at = clock_timestamp()
                        + \(setback.retryAfter?.milliseconds ?? 0) * interval '1 ms',
                    worker = NULL, fence = NULL
                WHERE subscription_id = \(claim.subscription.uuid)
                    AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                RETURNING subscription_id, session_id
            ),
            streak AS (
                INSERT INTO failure_streak AS f (subscription_id, failures, paused_until)
                SELECT subscription_id, 1, greatest(
                    clock_timestamp() + \(setback.throttle?.milliseconds) * interval '1 ms',
                    \(Self.pauseEnd(after: "1", health)))
                FROM held WHERE \(setback.isReceiversFault)
                ON CONFLICT (subscription_id) DO UPDATE SET
                    failures = f.failures + 1,
                    paused_until = greatest(
                        f.paused_until, excluded.paused_until,
                        \(Self.pauseEnd(after: "f.failures + 1", health)))
                RETURNING subscription_id, failures, failing_since
            ),
            disabled AS (
                UPDATE subscription b SET
                    revision = b.revision + 1,
                    disabled_at = clock_timestamp(),
                    disabled_reason = CASE WHEN \(setback.isGone) THEN 'gone' ELSE 'failing' END
                FROM streak f
                WHERE b.id = f.subscription_id AND b.disabled_at IS NULL
                    AND (\(setback.isGone) OR f.failures >= \(Int32(health.failuresMax))
                        AND f.failing_since <= clock_timestamp()
                            - \(health.disabledAfter.milliseconds) * interval '1 ms')
                RETURNING b.id, b.tenant_id, b.disabled_reason, f.failing_since
            ),
            \(Self.tellOfDisabled),
            \(DeliveryLogStore.logTry(setback.attempt, of: sequence, batch, state: isDead ? .dead : .waiting))
            SELECT EXISTS (SELECT 1 FROM disabled) AS is_disabled FROM held
            """
        )
        guard let row = rows.first else { return .stale }
        return try row.decode("is_disabled") ? .disabled : .recorded
    }

    /// Writes `subscription.disabled` for the tenant's other subscriptions; expects `disabled`.
    private static let tellOfDisabled = EventRuns.recordTenantEvent(
        .subscriptionDisabled,
        of: "disabled",
        details: """
            jsonb_build_object(
                'subscription_id', x.id, 'reason', x.disabled_reason, 'failing_since_ms',
                floor(extract(epoch FROM x.failing_since) * 1000)::bigint)
            """,
        tells: "NOT EXISTS (SELECT 1 FROM disabled x WHERE x.id = b.id)"
    )

    /// Returns the end of the pause after this many failures in a row; NULL when there is none.
    private static func pauseEnd(after failures: Query, _ health: DeliveryHealth) -> Query {
        let pauses = health.pauses.map(\.milliseconds)
        let first = Int32(health.failuresMax - 1)
        // A subscript before the first is NULL.
        return """
            clock_timestamp() + (\(pauses))[
                least(\(failures) - \(first), \(Int32(pauses.count)))] * interval '1 ms'
            """
    }
}
