package import Foundation
import Postgres
package import TransferModel

extension DeliveryLogStore {
    /// The most replays that are cancelled at once.
    private static let cancelMax = 1000

    /// Schedules a message to be sent again, at once and outside the order of its session.
    ///
    /// - Returns: the delivery as it then is, or nil when the tenant has none of that name.
    package func replay(
        tenant: TenantID,
        id: DeliveryID
    ) async throws(StoreError) -> LoggedDelivery? {
        let rows = try await database.run(
            """
            UPDATE delivery_log l SET replay_due_at = coalesce(l.replay_due_at, clock_timestamp())
            FROM subscription b
            WHERE l.id = \(id.uuid) AND \(Self.hasItsEvent) AND b.id = l.subscription_id
                AND b.tenant_id = \(tenant.uuid) AND b.deleted_at IS NULL
            """
        )
        guard rows.affectedCount == 1 else { return nil }
        return try await delivery(tenant: tenant, id: id)
    }

    /// Schedules the dead messages of a subscription to be sent again, from the oldest: those that
    /// died from `since` to before `until`, at most ``recoveryMax``.
    ///
    /// Each is due a microsecond after the one before it, which keeps the order; those of a session
    /// stay in the order of its events.
    ///
    /// - Returns: the number of messages, or nil when the tenant has no such subscription.
    package func recover(
        tenant: TenantID,
        subscription: SubscriptionID,
        since: Date,
        until: Date?
    ) async throws(StoreError) -> Int? {
        guard
            try await SubscriptionStore(database).subscription(tenant: tenant, id: subscription)
                != nil
        else {
            return nil
        }
        let rows = try await database.run(
            """
            WITH chosen AS MATERIALIZED (
                SELECT l.id, l.session_id, l.sequence FROM delivery_log l
                WHERE l.subscription_id = \(subscription.uuid) AND l.state = 'dead'
                    AND l.died_at >= \(since) AND l.died_at < coalesce(\(until), 'infinity')
                    AND l.replay_due_at IS NULL AND \(Self.hasItsEvent)
                ORDER BY l.id LIMIT \(Self.recoveryMax)
            ),
            numbered AS (
                SELECT c.id, c.session_id, c.sequence, row_number() OVER (ORDER BY c.id) AS number
                FROM chosen c
            ),
            -- Of equal places, the claim takes the lower sequence first.
            placed AS (
                SELECT n.id, max(n.number) OVER (PARTITION BY n.session_id ORDER BY n.sequence)
                    AS place
                FROM numbered n
            )
            UPDATE delivery_log l SET
                replay_due_at = now()
                    - (\(Int64(Self.recoveryMax)) - p.place) * interval '1 microsecond'
            FROM placed p
            -- Not one of which a replay was taken meanwhile.
            WHERE l.id = ANY (ARRAY[p.id]) AND l.replay_due_at IS NULL AND l.state = 'dead'
            """
        )
        return rows.affectedCount
    }

    /// Whether the event of the log's row `l` is still kept.
    private static let hasItsEvent: Query = """
        EXISTS (\(EventRuns.select("1", of: "l.session_id", holding: "l.sequence")))
        """

    /// Returns whether a claim would probably find replays.
    package func areAnyReplaysDue() async throws(StoreError) -> Bool {
        try await !database.run(
            """
            SELECT 1 FROM delivery_log WHERE replay_due_at <= statement_timestamp()
            ORDER BY replay_due_at LIMIT 1
            """
        ).isEmpty
    }

    /// Returns the subscriptions with due replays among the next `limit` that have any.
    package func replayTurns(
        after subscription: SubscriptionID?,
        limit: Int
    ) async throws(StoreError) -> ReplayTurns {
        let start = subscription?.uuid ?? UUID.zero
        // One look-up for each subscription, however many replays it has.
        let rows = try await database.run(
            """
            WITH RECURSIVE turn AS (
                SELECT x.subscription_id FROM (\(Self.nextReplayed(after: "\(start)"))) x
                UNION ALL
                SELECT x.subscription_id FROM turn t
                CROSS JOIN LATERAL (\(Self.nextReplayed(after: "t.subscription_id"))) x
            )
            SELECT t.subscription_id, b.tenant_id, coalesce((
                SELECT l.replay_due_at FROM delivery_log l
                WHERE l.subscription_id = t.subscription_id AND l.replay_due_at IS NOT NULL
                ORDER BY l.subscription_id, l.replay_due_at LIMIT 1
            ) <= clock_timestamp(), false) AS is_due
            FROM (SELECT subscription_id FROM turn LIMIT \(limit)) t
            LEFT JOIN subscription b ON b.id = ANY (ARRAY[t.subscription_id])
                AND \(Fragment.isLivingSubscriptionByKey)
            ORDER BY t.subscription_id
            """
        )
        var turns: [ReplayTurns.Turn] = []
        var last: SubscriptionID?
        for row in rows {
            let id = try row.subscription("subscription_id")
            last = id
            guard try row.decode("is_due", as: Bool.self) else { continue }
            let tenant = try row.decodeIfPresent("tenant_id", as: UUID.self).map {
                TenantID($0)
            }
            turns.append(ReplayTurns.Turn(subscription: id, tenant: tenant))
        }
        return ReplayTurns(turns: turns, last: rows.count < limit ? nil : last)
    }

    /// Selects the next subscription that has replays.
    private static func nextReplayed(after subscription: Query) -> Query {
        """
        SELECT l.subscription_id FROM delivery_log l
        WHERE l.replay_due_at IS NOT NULL AND l.subscription_id > \(subscription)
        ORDER BY l.subscription_id, l.replay_due_at LIMIT 1
        """
    }

    /// Gives due replays of a subscription to this instance for the duration of `lease`, from the
    /// one that is due the longest, also when the subscription is disabled.
    ///
    /// While replays of a subscription are claimed, no others of it are, by any instance. When
    /// their lease has ended, they come before all others: whoever had them is dead.
    ///
    /// Replays of a subscription that this release cannot read are put off, and those of a deleted
    /// one left.
    package func claimReplays(
        of subscription: SubscriptionID,
        _ fences: WorkerIdentity.Reservation,
        limit: Int,
        lease: Duration
    ) async throws(StoreError) -> DueReplays {
        // A claim that is lost when the database crashes is made again, as that of a delivery.
        let rows = try await database.run(
            [.unsynced],
            """
            WITH claimed AS MATERIALIZED (
                SELECT l.id FROM delivery_log l
                WHERE l.subscription_id = \(subscription.uuid) AND l.replay_fence IS NOT NULL
            ),
            next AS MATERIALIZED (
                SELECT l.id FROM delivery_log l
                WHERE l.subscription_id = \(subscription.uuid)
                    AND l.replay_due_at <= statement_timestamp()
                    AND NOT EXISTS (SELECT 1 FROM claimed)
                ORDER BY l.subscription_id, l.replay_due_at, l.session_id, l.sequence
                LIMIT \(limit)
            ),
            -- Chosen before they are locked: whoever meets the claim of another, still unseen, must
            -- find nothing rather than the replays behind it.
            due AS MATERIALIZED (
                SELECT l.id, l.replay_due_at AS due_at FROM delivery_log l
                WHERE l.id = ANY (ARRAY(SELECT id FROM claimed UNION ALL SELECT id FROM next))
                    AND l.replay_due_at <= statement_timestamp()
                    AND EXISTS (
                        SELECT 1 FROM subscription b
                        WHERE b.id = \(subscription.uuid)
                            AND \(Fragment.isLivingSubscriptionByKey))
                ORDER BY l.replay_due_at, l.session_id, l.sequence
                LIMIT \(limit) FOR UPDATE SKIP LOCKED
            ),
            numbered AS (SELECT id, due_at, row_number() OVER () - 1 AS number FROM due),
            mine AS (
                UPDATE delivery_log l SET
                    replay_fence = \(fences.first.rawValue) + n.number,
                    replay_due_at = clock_timestamp() + \(lease.milliseconds) * interval '1 ms'
                FROM numbered n WHERE l.id = ANY (ARRAY[n.id])
                RETURNING l.id, l.subscription_id, l.session_id, l.sequence, l.batch_first,
                    l.replay_fence, n.due_at
            )
            SELECT m.*, b.tenant_id, b.url, b.headers, b.ack_key, b.event_types, b.rate_limit,
                b.client IS NOT NULL AS is_scoped, \(SubscriptionStore.livingSecrets) AS secrets,
                \(SubscriptionStore.version) AS version
            FROM mine m JOIN subscription b ON b.id = ANY (ARRAY[m.subscription_id])
            ORDER BY m.replay_fence
            """
        )
        var claims: [ReplayClaim] = []
        var unreadable: [Int64] = []
        var subscriptions: Set<SubscriptionID> = []
        for row in rows {
            do throws(StoreError) {
                claims.append(try ReplayClaim(row))
            } catch {
                unreadable.append(try row.decode("replay_fence"))
                subscriptions.insert(try row.subscription("subscription_id"))
            }
        }
        if !unreadable.isEmpty {
            let ids = try rows.map { row throws(StoreError) in try row.decode("id", as: UUID.self) }
            try await putOff(ids, claimedUnder: unreadable)
        }
        return DueReplays(claims: claims, unreadable: subscriptions)
    }

    /// Puts replays off that were claimed and cannot be read here.
    private func putOff(_ deliveries: [UUID], claimedUnder fences: [Int64]) async throws(StoreError)
    {
        _ = try await database.run(
            """
            UPDATE delivery_log SET
                replay_fence = NULL, replay_due_at = clock_timestamp() + (1 + random())
                    * \(DeliveryStore.unreadablePause.milliseconds) * interval '1 ms'
            WHERE id = ANY (\(deliveries)) AND replay_fence = ANY (\(fences))
            """
        )
    }

    /// Renews the claim of a replay for the duration of `lease`, before a message of it is sent
    /// some time after it was claimed.
    ///
    /// - Returns: false when the claim has ended, or its subscription was changed or deleted since
    ///   it was made: then it is to be given back, and the next claim has what is right by then.
    package func renewReplay(
        _ claim: ReplayClaim,
        lease: Duration
    ) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            [.unsynced],
            """
            UPDATE delivery_log SET
                replay_due_at = clock_timestamp() + \(lease.milliseconds) * interval '1 ms'
            WHERE id = \(claim.delivery.uuid) AND replay_fence = \(claim.fence.rawValue)
                AND EXISTS (
                    SELECT 1 FROM subscription b
                    WHERE b.id = \(claim.subscription.uuid) AND b.deleted_at IS NULL
                        AND \(SubscriptionStore.version) = \(claim.version))
            """
        )
        return rows.affectedCount == 1
    }

    /// Ends claims of replays that were not sent, which keep their places.
    ///
    /// What somebody else changes just then is left to them, or to its lease.
    package func returnReplays(_ claims: [ReplayClaim]) async throws(StoreError) {
        // If the change is lost, their leases end the claims.
        _ = try await database.run(
            [.unsynced],
            """
            WITH held AS MATERIALIZED (
                SELECT l.id, x.due_at
                FROM unnest(
                    \(claims.map(\.delivery.uuid)),
                    \(claims.map(\.fence.rawValue)),
                    \(claims.map(\.dueAt))
                ) AS x (id, fence, due_at)
                JOIN delivery_log l ON l.id = ANY (ARRAY[x.id]) AND l.replay_fence = x.fence
                FOR UPDATE OF l SKIP LOCKED
            )
            UPDATE delivery_log l SET replay_fence = NULL, replay_due_at = h.due_at
            FROM held h WHERE l.id = ANY (ARRAY[h.id])
            """
        )
    }

    /// Logs a replay, which affects neither the order nor the health of its subscription.
    ///
    /// - Parameters:
    ///   - claim: the replay, whose claim ends.
    ///   - attempt: how it went.
    ///   - isOver: false when the message is to be sent again, at its place.
    /// - Returns: false when the claim is stale.
    /// - Throws: why it could not be logged.
    package func recordReplayed(
        _ claim: ReplayClaim,
        _ attempt: DeliveryAttempt,
        isOver: Bool = true
    ) async throws(StoreError) -> Bool {
        let dueAt: Date? = isOver ? nil : claim.dueAt
        let rows = try await database.run(
            """
            WITH log_row AS (
                UPDATE delivery_log SET
                    replay_due_at = \(dueAt), replay_fence = NULL,
                    -- What the schedule still tries stays its own.
                    state = CASE WHEN state = 'dead' AND \(attempt.reason == nil)
                        THEN 'delivered' ELSE state END
                WHERE id = \(claim.delivery.uuid) AND replay_fence = \(claim.fence.rawValue)
                RETURNING id
            ),
            \(Self.attemptRow(attempt))
            SELECT id FROM log_row
            """
        )
        return !rows.isEmpty
    }

    /// Cancels replays of a subscription that is deleted, or whose receiver cannot be reached; dead
    /// messages stay dead.
    ///
    /// - Returns: how many were cancelled; unless there were none, there may be more.
    package func cancelReplays(of subscription: SubscriptionID) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            UPDATE delivery_log SET replay_due_at = NULL, replay_fence = NULL
            WHERE id = ANY (ARRAY(
                SELECT l.id FROM delivery_log l
                WHERE l.subscription_id = \(subscription.uuid) AND l.replay_due_at IS NOT NULL
                ORDER BY l.subscription_id, l.replay_due_at, l.session_id, l.sequence
                LIMIT \(Self.cancelMax) FOR UPDATE SKIP LOCKED))
            """
        )
        return rows.affectedCount
    }

    /// Returns the endpoint that messages of the tenant's subscription `id` are sent to.
    package func endpoint(
        tenant: TenantID,
        subscription id: SubscriptionID
    ) async throws(StoreError) -> Endpoint? {
        try await database.fetchFirst(
            Endpoint.self,
            """
            SELECT b.tenant_id, b.id AS subscription_id, b.url, b.headers, b.ack_key,
                \(SubscriptionStore.livingSecrets) AS secrets
            FROM subscription b
            WHERE b.tenant_id = \(tenant.uuid) AND b.id = \(id.uuid) AND b.deleted_at IS NULL
            """
        )
    }
}

extension ReplayClaim: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            delivery: try row.delivery("id"),
            subscription: try row.subscription("subscription_id"),
            tenant: try row.tenant("tenant_id"),
            session: try row.session("session_id"),
            sequence: try row.decode("sequence"),
            batchFirst: try row.decodeIfPresent("batch_first"),
            fence: try row.fence("replay_fence"),
            dueAt: try row.decode("due_at"),
            endpoint: try Endpoint(row),
            filter: try row.eventFilter("event_types"),
            isScoped: try row.decode("is_scoped"),
            rateLimit: try row.decodeIfPresent("rate_limit", as: Int16.self).map(Int.init),
            version: try row.decode("version")
        )
    }
}
