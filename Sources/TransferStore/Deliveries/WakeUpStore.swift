import Postgres
package import TransferModel

/// The wake-ups of clients, and their acknowledgements.
package struct WakeUpStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension WakeUpStore {
    /// Admits a wake-up, or sets its delivery to wait until the throttle allows it.
    ///
    /// Of several at once, one is admitted. A wake-up counts when it is sent, not when it is
    /// accepted: a client that failed to answer may have been woken all the same. Ask for the first
    /// try only: a retry does not wait, and a second answer for the last wake-up is as the first.
    package func admitWakeUp(
        _ claim: DeliveryClaim,
        _ event: SessionEvent,
        throttle: WakeUpThrottle = WakeUpThrottle()
    ) async throws(StoreError) -> WakeUpAdmission {
        let rows = try await database.run(
            """
            WITH held AS MATERIALIZED (
                SELECT subscription_id, session_id FROM delivery
                WHERE subscription_id = \(claim.subscription.uuid)
                    AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                FOR UPDATE
            ),
            admitted AS (
                INSERT INTO wake_up AS w (subscription_id, event_id, count, sent_at)
                SELECT subscription_id, \(event.id), 1, clock_timestamp() FROM held
                ON CONFLICT (subscription_id) DO UPDATE SET
                    event_id = excluded.event_id, sent_at = excluded.sent_at,
                    count = CASE
                        WHEN w.event_id = excluded.event_id THEN w.count
                        WHEN w.sent_at < clock_timestamp()
                            - \(throttle.quietPeriod.milliseconds) * interval '1 ms' THEN 1
                        ELSE least(w.count + 1, 1000000) END
                WHERE w.event_id = excluded.event_id
                    OR w.sent_at + \(Self.delay(throttle)) <= clock_timestamp()
                RETURNING w.subscription_id
            ),
            postponed AS (
                UPDATE delivery d SET
                    due_at = w.sent_at + \(Self.delay(throttle)), worker = NULL, fence = NULL
                FROM held h JOIN wake_up w ON w.subscription_id = h.subscription_id
                WHERE d.subscription_id = h.subscription_id AND d.session_id = h.session_id
                    AND NOT EXISTS (SELECT 1 FROM admitted)
                RETURNING d.subscription_id
            )
            SELECT EXISTS (SELECT 1 FROM admitted) AS is_admitted,
                EXISTS (SELECT 1 FROM postponed) AS is_postponed
            """
        )
        guard let row = rows.first else { return .undecided }
        if try row.decode("is_admitted") { return .admitted }
        return try row.decode("is_postponed") ? .postponed : .undecided
    }

    /// Returns the wait after the last of the wake-ups that a row `w` counts.
    private static func delay(_ throttle: WakeUpThrottle) -> Query {
        let delays = throttle.delays.map(\.milliseconds)
        return "(\(delays))[least(w.count, \(Int32(delays.count)))] * interval '1 ms'"
    }
}
