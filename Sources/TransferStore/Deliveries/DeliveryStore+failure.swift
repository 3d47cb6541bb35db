package import Foundation
import Postgres
package import TransferModel

extension DeliveryStore {
    /// Counts a failed try of the message that ends with `sequence`, and sets the message to wait
    /// or gives it up; its claim ends.
    ///
    /// The failure also counts against the subscription, which may then be paused, or disabled with
    /// the event that reports it. If the subscription was changed since the claim, the try is only
    /// logged, and the message is due as the subscription is then. With a `latest`, nothing has
    /// failed for longer than until then, however far ahead the database's clock is.
    package func recordDeliveryFailed(
        _ claim: DeliveryClaim,
        sequence: Int64,
        batch: MessageBatch? = nil,
        _ setback: DeliverySetback,
        health: DeliveryHealth = DeliveryHealth(),
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> SetbackResult {
        let isDead = setback.retryAfter == nil
        let throttleEnd: Query = """
            clock_timestamp() + \(setback.throttle?.milliseconds) * interval '1 ms'
            """
        let rows = try await database.run([
            claim.lock,
            """
            WITH held AS (
                UPDATE delivery SET
                    acknowledged_sequence = CASE WHEN \(isDead)
                        THEN \(sequence) ELSE acknowledged_sequence END,
                    \(isDead ? DeliveryClaim.forgetTries : DeliveryClaim.recordTry(of: sequence, batch)),
                    \(claim.keepLaunches(through: isDead ? "\(sequence)" : "launches_after")),
                    last_status = \(setback.attempt.status.map(Int16.init(clamping:))),
                    last_error = \(setback.attempt.reason),
                    attempted_at = clock_timestamp(),
                    due_at = clock_timestamp()
                        + \(setback.retryAfter?.milliseconds ?? 0) * interval '1 ms',
                    worker = NULL, fence = NULL
                WHERE subscription_id = \(claim.subscription.uuid)
                    AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                    AND \(claim.isUnchanged) AND \(claim.isInLog(sequence))
                RETURNING subscription_id, session_id
            ),
            streak AS (
                INSERT INTO failure_streak AS f (subscription_id, failures, paused_until)
                SELECT subscription_id, 1,
                    greatest(\(throttleEnd), \(Self.pauseEnd(after: "1", health)))
                FROM held WHERE \(setback.isReceiversFault)
                ON CONFLICT (subscription_id) DO UPDATE SET
                    -- What was in flight when the pause began says nothing new.
                    failures = f.failures + CASE WHEN \(claim.isSpared(health)) THEN 0 ELSE 1 END,
                    paused_until = greatest(f.paused_until, \(throttleEnd), CASE
                        WHEN NOT \(claim.isSpared(health))
                        THEN \(Self.pauseEnd(after: "f.failures + 1", health)) END)
                RETURNING subscription_id, failures, failing_since
            ),
            disabled AS (
                UPDATE subscription b SET
                    revision = b.revision + 1,
                    disabled_at = clock_timestamp(),
                    disabled_reason = CASE WHEN \(setback.isGone) THEN 'gone' ELSE 'failing' END
                FROM streak f
                WHERE b.id = f.subscription_id AND b.disabled_at IS NULL
                    AND \(Fragment.isLivingSubscriptionByKey)
                    AND (\(setback.isGone) OR f.failures >= \(Int32(health.failuresMax))
                        AND f.failing_since <= least(clock_timestamp(), \(latest))
                            - \(health.disabledAfter.milliseconds) * interval '1 ms')
                RETURNING b.id, b.tenant_id, b.disabled_reason, f.failing_since
            ),
            \(Self.tellOfDisabled),
            \(DeliveryLogStore.forgetTried(claim, except: sequence)),
            \(DeliveryLogStore.logTry(setback.attempt, of: sequence, batch, state: isDead ? .dead : .waiting))
            SELECT EXISTS (SELECT 1 FROM disabled) AS is_disabled FROM held
            """,
        ])[1]
        guard let row = rows.first else {
            return try await recordOutdatedTry(claim, sequence: sequence, batch, setback.attempt)
        }
        return try row.decode("is_disabled") ? .disabled : .recorded
    }

    /// Logs a failed try that was made as the subscription was, and ends its claim: the message is
    /// due, and what the former receiver answered counts neither for it nor for the subscription.
    private func recordOutdatedTry(
        _ claim: DeliveryClaim,
        sequence: Int64,
        _ batch: MessageBatch?,
        _ attempt: DeliveryAttempt
    ) async throws(StoreError) -> SetbackResult {
        let rows = try await database.run(
            """
            WITH held AS (
                UPDATE delivery SET
                    \(DeliveryClaim.recordTry(of: sequence, batch, counts: false)),
                    last_status = \(attempt.status.map(Int16.init(clamping:))),
                    last_error = \(attempt.reason), attempted_at = clock_timestamp(),
                    due_at = clock_timestamp(), worker = NULL, fence = NULL
                WHERE subscription_id = \(claim.subscription.uuid)
                    AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                    AND \(claim.isInLog(sequence))
                RETURNING subscription_id, session_id
            ),
            \(DeliveryLogStore.forgetTried(claim, except: sequence)),
            \(DeliveryLogStore.logTry(attempt, of: sequence, batch, state: .waiting))
            SELECT 1 FROM held
            """
        )
        return rows.isEmpty ? .stale : .outdated
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

/// The end of failures, after which everything that waits for a subscription is due.
///
/// That may be any number of deliveries, so that it is done in pages.
extension DeliveryStore {
    /// The number of deliveries of a subscription that one transaction examines.
    package static let restartPageMax = 1000

    /// Ends the failures of a subscription that has accepted a message, and makes the first page of
    /// its waiting deliveries due, which for most subscriptions is all of them.
    ///
    /// Expects `held(subscription_id, session_id)`.
    static func heal(if isTaken: Bool, _ health: DeliveryHealth) -> Query {
        """
        healed AS (
            DELETE FROM failure_streak f USING held h
            WHERE f.subscription_id = ANY (ARRAY[h.subscription_id]) AND \(isTaken)
                AND (f.failures >= \(Int32(health.failuresMax))
                    OR coalesce(f.paused_until <= clock_timestamp(), true))
            RETURNING f.subscription_id, f.failures
        ),
        -- A pause that the receiver asked for outlasts what was on its way.
        eased AS (
            UPDATE failure_streak f SET failures = 0, failing_since = clock_timestamp()
            FROM held h
            WHERE f.subscription_id = ANY (ARRAY[h.subscription_id]) AND \(isTaken)
                AND f.failures < \(Int32(health.failuresMax))
                AND f.paused_until > clock_timestamp()
        ),
        -- The receiver is back, for all of its sessions but those whose end it still works on.
        back AS MATERIALIZED (
            SELECT e.subscription_id FROM healed e
            WHERE e.failures >= \(Int32(health.failuresMax))
        ),
        restart_row AS (\(Self.storeRestart("SELECT k.subscription_id, false FROM back k"))),
        first_page AS MATERIALIZED (
            SELECT p.* FROM back k CROSS JOIN LATERAL (
                SELECT d.subscription_id, d.session_id, \(Self.isWaiting) AS is_waiting
                FROM delivery d
                WHERE d.subscription_id = k.subscription_id
                ORDER BY d.session_id LIMIT \(Self.restartPageMax)
            ) p
        ),
        -- What others hold is left for the restart, which waits for them.
        waiting AS MATERIALIZED (
            SELECT d.subscription_id, d.session_id FROM first_page p
            JOIN delivery d ON \(Fragment.isDelivery(of: "p.subscription_id", in: "p.session_id"))
            WHERE p.is_waiting AND \(Self.isWaiting)
                AND coalesce(d.due_at > clock_timestamp(), false)
                AND NOT \(Self.awaitsAck)
            FOR UPDATE OF d SKIP LOCKED
        ),
        due AS (
            UPDATE delivery d SET due_at = clock_timestamp()
            FROM waiting w
            WHERE \(Fragment.isDelivery(of: "w.subscription_id", in: "w.session_id"))
        )
        """
    }

    /// Returns the statement that stores restarts, those that go on already from the beginning.
    ///
    /// `rows` selects the subscriptions, and whether messages that wait for their acknowledgement
    /// are sent again too.
    static func storeRestart(_ rows: Query) -> Query {
        """
        INSERT INTO delivery_restart AS r (subscription_id, tenant_id, includes_awaited)
        SELECT x.subscription_id, b.tenant_id, x.includes_awaited
        FROM (\(rows)) x (subscription_id, includes_awaited)
        JOIN subscription b ON b.id = ANY (ARRAY[x.subscription_id])
        ON CONFLICT (subscription_id) DO UPDATE SET
            includes_awaited = r.includes_awaited OR excluded.includes_awaited,
            requested_at = excluded.requested_at, restarted_through = excluded.restarted_through
        """
    }

    /// Makes a page of the waiting deliveries due of each subscription that is to begin again.
    ///
    /// A subscription that is blocked by others is left for later, and does not delay the rest.
    /// Tenants take turns, as ``WaitingWork`` says.
    ///
    /// - Returns: the number of pages; there may be more unless it is zero.
    /// - Throws: why there were none.
    package func continueRestarts() async throws(StoreError) -> Int {
        try await WaitingWork.advance(
            "delivery_restart",
            by: "subscription_id",
            in: database
        ) { subscription throws(StoreError) in
            try await restartPage(of: SubscriptionID(subscription)) ? 1 : 0
        }
    }

    /// Makes the first page of a subscription's waiting deliveries due, which for most is all of
    /// them.
    ///
    /// This never fails: the restart is stored, and ``continueRestarts()`` carries it out later and
    /// throws the reason if that fails.
    func beginRestart(of subscription: SubscriptionID) async {
        do throws(StoreError) { _ = try await restartPage(of: subscription) } catch {}
    }

    /// Examines the deliveries after the position of a subscription's restart, makes those due that
    /// wait, and moves the position; with the last page the restart ends.
    ///
    /// The row of the restart is locked last, as by whoever stores one while it holds a delivery.
    ///
    /// - Returns: false when there is no restart, or another instance is doing this.
    private func restartPage(of subscription: SubscriptionID) async throws(StoreError) -> Bool {
        let id: Query = "\(subscription.uuid)"
        let rows = try await database.run([
            database.briefLocks,
            """
            WITH chosen AS MATERIALIZED (
                SELECT r.* FROM delivery_restart r
                WHERE r.subscription_id = \(id) AND pg_try_advisory_xact_lock(
                    \(AdvisoryLock.restarts.rawValue), hashtext(r.subscription_id::text))
            ),
            page AS MATERIALIZED (
                SELECT d.session_id, \(Self.isWaiting) AS is_waiting FROM delivery d
                WHERE d.subscription_id = \(id)
                    AND d.session_id > (SELECT c.restarted_through FROM chosen c)
                ORDER BY d.session_id LIMIT \(Self.restartPageMax)
            ),
            -- Also what is due: a claim may be setting it to wait just now. What was tried since
            -- has begun again already.
            waiting AS MATERIALIZED (
                SELECT d.session_id, d.due_at FROM chosen c CROSS JOIN page p
                JOIN delivery d
                    ON \(Fragment.isDelivery(of: "c.subscription_id", in: "p.session_id"))
                WHERE p.is_waiting AND \(Self.isWaiting)
                    AND coalesce(d.attempted_at <= c.requested_at, true)
                    AND (c.includes_awaited OR NOT \(Self.awaitsAck))
                ORDER BY d.session_id FOR UPDATE OF d
            ),
            due AS (
                UPDATE delivery d SET due_at = clock_timestamp()
                FROM waiting w
                WHERE \(Fragment.isDelivery(of: "\(id)", in: "w.session_id"))
                    AND w.due_at > clock_timestamp()
                RETURNING d.session_id
            ),
            -- One that was requested again meanwhile begins at its beginning.
            moved AS (
                UPDATE delivery_restart r SET restarted_through = (
                    SELECT p.session_id FROM page p ORDER BY p.session_id DESC LIMIT 1)
                FROM chosen c
                WHERE r.subscription_id = c.subscription_id AND r.requested_at = c.requested_at
                    AND (SELECT count(*) FROM page) = \(Self.restartPageMax)
            ),
            done AS (
                DELETE FROM delivery_restart r USING chosen c
                WHERE r.subscription_id = c.subscription_id AND r.requested_at = c.requested_at
                    AND (SELECT count(*) FROM page) < \(Self.restartPageMax)
            )
            SELECT (SELECT count(*) FROM due) AS restarted FROM chosen
            """,
        ])
        return !rows[1].isEmpty
    }

    /// Whether a delivery `d` is to be made later, or is due, and nobody has claimed it.
    private static let isWaiting: Query = "(d.due_at IS NOT NULL AND d.fence IS NULL)"

    /// Whether the message of a delivery `d` was answered with 202, and waits for its
    /// acknowledgement.
    private static let awaitsAck: Query = "(d.attempt > 0 AND coalesce(d.last_status = 202, false))"
}

extension DeliveryStore {
    /// Gives back the deliveries of a claim of at most `limit` whose answer never arrived.
    package func returnDeliveries(
        claimedUnder fences: WorkerIdentity.Reservation,
        limit: Int
    ) async throws(StoreError) {
        _ = try await database.run(
            """
            UPDATE delivery SET due_at = clock_timestamp(), worker = NULL, fence = NULL
            WHERE worker = \(fences.incarnation) AND fence >= \(fences.first.rawValue)
                AND fence < \(fences.first.rawValue + Int64(limit))
            """
        )
    }

    /// Ends claims whose deliveries found no place, each to be due again after its own wait.
    ///
    /// What somebody else changes just then is left to them, or to its lease.
    package func postpone(
        _ deliveries: [(claim: DeliveryClaim, wait: Duration)]
    ) async throws(StoreError) {
        // If the change is lost, their leases end the claims.
        _ = try await database.run(
            [.unsynced],
            """
            WITH held AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id, x.wait_ms
                FROM unnest(
                    \(deliveries.map(\.claim.subscription.uuid)),
                    \(deliveries.map(\.claim.session.uuid)),
                    \(deliveries.map(\.claim.fence.rawValue)),
                    \(deliveries.map(\.wait.milliseconds))
                ) AS x (subscription_id, session_id, fence, wait_ms)
                JOIN delivery d
                    ON \(Fragment.isDelivery(of: "x.subscription_id", in: "x.session_id"))
                    AND d.fence = x.fence
                FOR UPDATE OF d SKIP LOCKED
            )
            UPDATE delivery d SET
                worker = NULL, fence = NULL,
                due_at = clock_timestamp() + h.wait_ms * interval '1 ms'
            FROM held h
            WHERE \(Fragment.isDelivery(of: "h.subscription_id", in: "h.session_id"))
            """
        )
    }

    /// Makes deliveries due that were postponed when these claims ended, and that nobody holds or
    /// has tried since.
    ///
    /// If one waits for another reason by then, the claim that meets it sets it to wait again. What
    /// somebody else changes just then is left to them.
    package func recall(_ deliveries: [DeliveryClaim]) async throws(StoreError) {
        // If the change is lost, they are due at the end of their waits.
        _ = try await database.run(
            [.unsynced],
            """
            WITH waiting AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id
                FROM unnest(
                    \(deliveries.map(\.subscription.uuid)),
                    \(deliveries.map(\.session.uuid)),
                    \(deliveries.map(\.acknowledgedSequence)),
                    \(deliveries.map { Int64($0.attempt) })
                ) AS x (subscription_id, session_id, acknowledged_sequence, attempt)
                JOIN delivery d
                    ON \(Fragment.isDelivery(of: "x.subscription_id", in: "x.session_id"))
                    AND d.acknowledged_sequence = ANY (ARRAY[x.acknowledged_sequence])
                    AND d.attempt = ANY (ARRAY[x.attempt])
                WHERE d.fence IS NULL AND coalesce(d.due_at > clock_timestamp(), false)
                FOR UPDATE OF d SKIP LOCKED
            )
            UPDATE delivery d SET due_at = clock_timestamp()
            FROM waiting w
            WHERE \(Fragment.isDelivery(of: "w.subscription_id", in: "w.session_id"))
            """
        )
    }
}
