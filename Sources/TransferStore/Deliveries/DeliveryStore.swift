import Foundation
import Postgres
import StandardWebhooks
package import TransferModel

/// The delivery of events: its claims and their results.
package struct DeliveryStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension DeliveryStore {
    /// The mean time after which a delivery of a disabled subscription is examined again, unless
    /// the subscription is enabled before; the least is half of it.
    private static let disabledPause: Duration = .seconds(3600)
    /// The mean time after which a delivery of a force-quit client is examined again, unless the
    /// client is launched before; the least is half of it.
    static let awayPause: Duration = .seconds(3600)
    /// The least time after which a delivery that cannot be read is examined again, by this
    /// instance or by another that may be able to read it; the most is twice as long.
    static let unreadablePause: Duration = .seconds(60)
    /// The time between the returns of a subscription's deliveries behind its pause.
    package static let returnDistance: Duration = .milliseconds(5)
    /// The time behind a pause within which all deliveries return.
    private static let returnsMax: Duration = .seconds(600)

    /// Returns whether a claim would probably find deliveries.
    package func areAnyDue() async throws(StoreError) -> Bool {
        try await !database.run(
            "SELECT 1 FROM delivery WHERE due_at <= statement_timestamp() ORDER BY due_at LIMIT 1"
        ).isEmpty
    }

    /// Gives due deliveries to this instance for the duration of `lease`.
    ///
    /// Deliveries of a subscription that is disabled, paused or being probed, of a client that was
    /// force-quit, and of a subscription that this release cannot read, are set to wait instead, so
    /// that later claims do not scan past them. Those of a deleted subscription become idle, and
    /// those of one that is gone are removed.
    package func claimDeliveries(
        _ fences: WorkerIdentity.Reservation,
        limit: Int,
        lease: Duration,
        health: DeliveryHealth = DeliveryHealth()
    ) async throws(StoreError) -> DueDeliveries {
        let probeEnd: Query = """
            clock_timestamp() + \(health.probeTime.milliseconds) * interval '1 ms'
            """
        // Webhooks do not wait for the disk here: a claim that is lost when the database crashes is
        // made again, and messages sent under it are sent a second time, as after a crash of this
        // service.
        let rows = try await database.run(
            [.unsynced],
            """
            WITH alive AS MATERIALIZED (\(WorkerTransactions.standing(of: fences.incarnation))),
            due AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id, b.client,
                    b.id IS NULL AS is_orphan,
                    b.id IS NULL OR b.deleted_at IS NOT NULL AS is_deleted,
                    b.disabled_at IS NOT NULL AS is_disabled,
                    coalesce(f.paused_until > statement_timestamp(), false) AS is_paused,
                    coalesce(f.failures >= \(Int32(health.failuresMax)), false) AS is_broken,
                    -- Asked of each only when there is any such client.
                    \(DeliveryClaim.isAway(session: "d.session_id", orOf: "b.client")) AS is_away
                FROM delivery d
                LEFT JOIN subscription b ON b.id = ANY (ARRAY[d.subscription_id])
                LEFT JOIN failure_streak f ON f.subscription_id = ANY (ARRAY[d.subscription_id])
                WHERE d.due_at <= statement_timestamp()
                ORDER BY d.due_at LIMIT \(limit) FOR UPDATE OF d SKIP LOCKED
            ),
            -- What has just been enabled, or taken a message, must not be set to wait by a claim
            -- that saw it before: the lock reads the newest version, and skips what is being
            -- changed.
            disabled AS MATERIALIZED (
                SELECT b.id FROM subscription b
                WHERE b.id = ANY (ARRAY(SELECT u.subscription_id FROM due u WHERE u.is_disabled))
                    AND b.disabled_at IS NOT NULL
                FOR SHARE SKIP LOCKED
            ),
            away AS MATERIALIZED (
                SELECT u.subscription_id, u.session_id FROM due u
                CROSS JOIN LATERAL (
                    \(DeliveryClaim.selectAwayClient(ofSession: "u.session_id", orOf: "u.client"))
                    FOR SHARE OF c SKIP LOCKED
                ) x
                WHERE u.is_away
            ),
            paused AS MATERIALIZED (
                SELECT f.subscription_id FROM failure_streak f
                WHERE f.subscription_id = ANY (ARRAY(
                        SELECT u.subscription_id FROM due u WHERE u.is_paused))
                    AND f.paused_until > statement_timestamp()
                FOR NO KEY UPDATE SKIP LOCKED
            ),
            -- In the order of subscriptions, so that no two claims wait for each other's probes;
            -- the numbers are in that of the times.
            candidate AS MATERIALIZED (
                SELECT u.subscription_id, u.session_id, u.is_paused, u.is_broken, u.number,
                    row_number() OVER (PARTITION BY u.subscription_id ORDER BY u.number) AS place,
                    count(*) OVER (PARTITION BY u.subscription_id) AS size
                FROM (
                    SELECT x.*, row_number() OVER () - 1 AS number FROM due x
                    WHERE NOT x.is_deleted AND NOT x.is_disabled AND NOT x.is_away
                ) u
                ORDER BY u.subscription_id, u.number
            ),
            line AS (
                UPDATE failure_streak f SET
                    returns_through = \(Self.returnsThrough(behind: "f.paused_until"))
                FROM paused p
                JOIN candidate c ON c.subscription_id = p.subscription_id AND c.place = 1
                WHERE f.subscription_id = ANY (ARRAY[p.subscription_id])
                RETURNING f.subscription_id, NULL::uuid AS probe, \(Self.firstReturn) AS starts_at
            ),
            -- Of all instances one gets one delivery of a broken subscription: whichever moves the
            -- end of the pause.
            probe AS (
                UPDATE failure_streak f SET
                    paused_until = \(probeEnd), probe_fence = \(fences.first.rawValue) + c.number,
                    returns_through = \(Self.returnsThrough(behind: probeEnd))
                FROM candidate c
                WHERE c.is_broken AND NOT c.is_paused AND c.place = 1
                    AND f.subscription_id = ANY (ARRAY[c.subscription_id])
                    AND coalesce(f.paused_until <= statement_timestamp(), true)
                RETURNING f.subscription_id, c.session_id AS probe, \(Self.firstReturn) AS starts_at
            ),
            numbered AS (
                SELECT c.subscription_id, c.session_id, c.number FROM candidate c
                WHERE NOT c.is_paused AND (NOT c.is_broken OR EXISTS (
                    SELECT 1 FROM probe p WHERE p.subscription_id = c.subscription_id
                        AND p.probe = c.session_id))
            ),
            -- One after another, so that what waited together does not return together.
            spared AS MATERIALIZED (
                SELECT c.subscription_id, c.session_id, r.starts_at
                    + c.place * \(Self.returnDistance.milliseconds) * interval '1 ms' AS due_at
                FROM candidate c
                JOIN (
                    SELECT l.subscription_id, l.probe, l.starts_at FROM line l
                    UNION ALL SELECT p.subscription_id, p.probe, p.starts_at FROM probe p
                ) r ON r.subscription_id = c.subscription_id
                    AND r.probe IS DISTINCT FROM c.session_id
            ),
            \(DeliveryClaim.removeOrphans),
            postponed AS (
                UPDATE delivery d SET
                    worker = NULL, fence = NULL,
                    due_at = CASE
                        WHEN u.is_deleted THEN NULL
                        -- Not together, or those of others would wait for all of them.
                        WHEN x.id IS NOT NULL THEN clock_timestamp() + (0.5 + random())
                            * \(Self.disabledPause.milliseconds) * interval '1 ms'
                        WHEN y.session_id IS NOT NULL THEN clock_timestamp() + (0.5 + random())
                            * \(Self.awayPause.milliseconds) * interval '1 ms'
                        ELSE s.due_at END
                FROM due u
                LEFT JOIN disabled x ON x.id = u.subscription_id
                LEFT JOIN away y ON y.subscription_id = u.subscription_id
                    AND y.session_id = u.session_id
                LEFT JOIN spared s ON s.subscription_id = u.subscription_id
                    AND s.session_id = u.session_id
                WHERE \(Fragment.isDelivery(of: "u.subscription_id", in: "u.session_id"))
                    AND NOT u.is_orphan
                    AND (u.is_deleted OR x.id IS NOT NULL OR y.session_id IS NOT NULL
                        OR s.session_id IS NOT NULL)
            ),
            mine AS (
                UPDATE delivery d SET
                    worker = \(fences.incarnation),
                    fence = \(fences.first.rawValue) + n.number,
                    due_at = clock_timestamp() + \(lease.milliseconds) * interval '1 ms'
                FROM numbered n, alive
                WHERE \(Fragment.isDelivery(of: "n.subscription_id", in: "n.session_id"))
                RETURNING d.subscription_id, d.session_id, d.fence, d.acknowledged_sequence,
                    d.tried_sequence, d.tried_batch, d.attempt,
                    d.attempt > 0 AND d.last_status = 202 AS awaits_ack
            )
            SELECT x.examined, m.*, b.tenant_id, b.url, b.headers, b.ack_key, b.ack_timeout_ms, \(SubscriptionStore.livingSecrets) AS secrets,
                b.event_types, b.client IS NOT NULL AS is_scoped, b.delivery_form,
                b.wake_up_throttling, b.concurrency, b.rate_limit,
                \(SubscriptionStore.version) AS version
            FROM (SELECT count(*) AS examined FROM due) x
            LEFT JOIN mine m ON true
            LEFT JOIN subscription b ON b.id = ANY (ARRAY[m.subscription_id])
            ORDER BY m.fence
            """
        )
        var claims: [DeliveryClaim] = []
        var unreadable: [(subscription: UUID, session: UUID)] = []
        for row in rows {
            do throws(StoreError) {
                if let claim = try DeliveryClaim(row) { claims.append(claim) }
            } catch {
                unreadable.append(
                    (try row.decode("subscription_id"), try row.decode("session_id"))
                )
            }
        }
        if !unreadable.isEmpty { try await putOff(unreadable, claimedBy: fences.incarnation) }
        let examined = try rows.first?.decode("examined", as: Int64.self) ?? 0
        return DueDeliveries(
            claims: claims,
            unreadable: Set(unreadable.map { SubscriptionID($0.subscription) }),
            examined: Int(examined)
        )
    }

    /// Returns the time at which the last of a subscription's deliveries returns when a claim's `c`
    /// are put behind those that wait for the end of its pause already.
    ///
    /// Where so many wait that there is no more room, they return at any time before.
    private static func returnsThrough(behind end: Query) -> Query {
        """
        least(greatest(f.returns_through, \(end))
                + c.size * \(returnDistance.milliseconds) * interval '1 ms',
            \(end) + \(returnsMax.milliseconds) * interval '1 ms')
        """
    }

    /// The time behind which a claim's deliveries `c` return of a subscription whose streak `f` has
    /// been changed by ``returnsThrough(behind:)``.
    private static let firstReturn: Query = """
        CASE WHEN f.returns_through
                >= f.paused_until + \(returnsMax.milliseconds - 1000) * interval '1 ms'
            THEN f.paused_until + random() * \(returnsMax.milliseconds) * interval '1 ms'
            ELSE f.returns_through - c.size * \(returnDistance.milliseconds) * interval '1 ms' END
        """

    /// Puts deliveries off that were claimed and cannot be read here, as with a secret that another
    /// key has sealed, so that they hold up no others.
    private func putOff(
        _ deliveries: [(subscription: UUID, session: UUID)],
        claimedBy incarnation: Int32
    ) async throws(StoreError) {
        _ = try await database.run(
            """
            UPDATE delivery d SET
                worker = NULL, fence = NULL,
                due_at = clock_timestamp() + (1 + random())
                    * \(Self.unreadablePause.milliseconds) * interval '1 ms'
            FROM unnest(\(deliveries.map(\.subscription)), \(deliveries.map(\.session)))
                AS x (subscription_id, session_id)
            WHERE \(Fragment.isDelivery(of: "x.subscription_id", in: "x.session_id"))
                AND d.worker = \(incarnation)
            """
        )
    }

    /// Moves a delivery's cursor past events that were acknowledged or are not asked for; only to
    /// `certain` if other events are asked for since the claim, of which some may lie behind it.
    ///
    /// `attempt` is given for the log when the last message was accepted at a later try than its
    /// first. An accepted message ends its subscription's failures.
    ///
    /// - Returns: what the claim is still good for.
    package func recordDelivered(
        _ claim: DeliveryClaim,
        through sequence: Int64,
        certain: Int64? = nil,
        status: Int?,
        attempt: DeliveryAttempt? = nil,
        lease: Duration,
        health: DeliveryHealth = DeliveryHealth()
    ) async throws(StoreError) -> ClaimStanding {
        // What was tried may still be to come: its subscription has changed its form since.
        let isPast = claim.tried.map { $0.sequence <= sequence } ?? true
        let logged = isPast ? attempt.map { _ in sequence } : claim.tried?.sequence
        let cursor = claim.cursor(through: sequence, certain: certain ?? sequence)
        let rows = try await database.run(
            """
            WITH held AS (
                UPDATE delivery SET
                    acknowledged_sequence = \(cursor),
                    \(isPast ? DeliveryClaim.forgetTries : "attempt = attempt"),
                    \(claim.keepLaunches(through: cursor)),
                    last_error = NULL, last_status = coalesce(\(status.map(Int16.init(clamping:))), last_status),
                    attempted_at = clock_timestamp(),
                    due_at = clock_timestamp() + \(lease.milliseconds) * interval '1 ms'
                WHERE subscription_id = \(claim.subscription.uuid)
                    AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                    AND acknowledged_sequence <= \(sequence) AND \(claim.isInLog(sequence))
                RETURNING subscription_id, session_id
            ),
            \(Self.heal(if: status != nil, health)),
            \(DeliveryLogStore.forgetTried(claim, except: logged)),
            \(DeliveryLogStore.logTry(attempt, of: sequence, state: .delivered))
            SELECT \(claim.isCurrent) AS is_current FROM held
            """
        )
        return try ClaimStanding(rows)
    }

    /// Returns what a claim is still good for, after a wait in which nothing was recorded.
    package func standing(of claim: DeliveryClaim) async throws(StoreError) -> ClaimStanding {
        try ClaimStanding(
            try await database.run(
                """
                SELECT \(claim.isCurrent) AS is_current FROM delivery
                WHERE subscription_id = \(claim.subscription.uuid)
                    AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                """
            )
        )
    }

    /// Ends a claim: the delivery becomes idle, or due at once if there are further events.
    ///
    /// The first statement waits for any transaction that is writing events of the session; the
    /// second then sees them. Without the lock, both sides could overlook such events.
    ///
    /// Nobody is told of a delivery that is due then: the events came while it was claimed.
    package func releaseDelivery(
        _ claim: DeliveryClaim
    ) async throws(StoreError) -> DeliveryRelease {
        let rows = try await database.run([
            """
            SELECT 1 FROM session_progress WHERE session_id = \(claim.session.uuid) FOR UPDATE
            """,
            """
            UPDATE delivery d SET
                worker = NULL, fence = NULL,
                -- A session that was removed has no further events.
                due_at = CASE WHEN (
                    SELECT p.last_sequence FROM session_progress p
                    WHERE p.session_id = \(claim.session.uuid)
                ) > d.acknowledged_sequence THEN clock_timestamp() END
            WHERE d.subscription_id = \(claim.subscription.uuid)
                AND d.session_id = \(claim.session.uuid) AND d.fence = \(claim.fence.rawValue)
            RETURNING d.due_at IS NOT NULL AS is_due
            """,
        ])
        guard let row = rows[1].first else { return .stale }
        return try row.decode("is_due") ? .due : .idle
    }
}

extension DeliveryClaim {
    /// Decodes a claim; nil in the row of a claim that got nothing.
    fileprivate init?(_ row: StoredRow) throws(StoreError) {
        guard let subscription = try row.decodeIfPresent("subscription_id", as: UUID.self) else {
            return nil
        }
        self.init(
            subscription: SubscriptionID(subscription),
            tenant: try row.tenant("tenant_id"),
            session: try row.session("session_id"),
            fence: try row.fence("fence"),
            acknowledgedSequence: try row.decode("acknowledged_sequence"),
            attempt: Int(try row.decode("attempt", as: Int16.self)),
            awaitsAck: try row.decodeIfPresent("awaits_ack") ?? false,
            tried: try TriedMessage(row),
            endpoint: try Endpoint(row),
            form: try row.word("delivery_form"),
            throttlesWakeUps: try row.decode("wake_up_throttling"),
            filter: try row.eventFilter("event_types"),
            isScoped: try row.decode("is_scoped"),
            concurrency: try row.decodeIfPresent("concurrency", as: Int16.self).map(Int.init),
            rateLimit: try row.decodeIfPresent("rate_limit", as: Int16.self).map(Int.init),
            ackTimeout: try row.milliseconds("ack_timeout_ms"),
            version: try row.decode("version")
        )
    }
}

extension TriedMessage {
    /// Decodes the message that was tried last; nil in the row of a pair whose next one is new.
    fileprivate init?(_ row: StoredRow) throws(StoreError) {
        guard let sequence = try row.decodeIfPresent("tried_sequence", as: Int64.self) else {
            return nil
        }
        self.init(sequence: sequence, batch: try row.decodeIfPresent("tried_batch"))
    }
}

extension Endpoint: RowDecodable {
    /// Decodes the columns `tenant_id`, `subscription_id`, `url`, `headers`, `ack_key` and
    /// `secrets`.
    init(_ row: StoredRow) throws(StoreError) {
        let tenant = try row.tenant("tenant_id")
        let id = try row.subscription("subscription_id")
        let secrets = try row.decode("secrets", as: [[UInt8]].self)
        guard !secrets.isEmpty else {
            throw StoreError(decoding: "a subscription without a signing secret")
        }
        self.init(
            url: try row.url("url", at: .url(of: id, of: tenant)),
            headers: try row.headers("headers", at: .headers(of: id, of: tenant)),
            secrets: try secrets.map { secret throws(StoreError) in
                SigningSecret(
                    bytes: try row.sealer.open(secret, at: .signingSecret(of: id, of: tenant))
                )
            },
            ackKey: try row.decode("ack_key")
        )
    }
}
