import Foundation
import Postgres
package import TransferModel

/// The log of successful and failed deliveries, and their replay.
package struct DeliveryLogStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension DeliveryLogStore {
    /// The number of attempts kept of one delivery; older ones are removed.
    private static let loggedAttemptsMax = 20
    /// The maximum number of deliveries that one recovery replays.
    package static let recoveryMax = 10_000

    /// Logs a try of the message that ends with `sequence`, if there is one to log.
    ///
    /// Expects `held(subscription_id, session_id)`.
    static func logTry(
        _ attempt: DeliveryAttempt?,
        of sequence: Int64,
        _ batch: MessageBatch? = nil,
        state: LoggedDelivery.State
    ) -> Query {
        guard let attempt else { return "log_row AS (SELECT 1)" }
        // What is taken later is told of without its batch; what is tried may be another message
        // with the same last event.
        let contents: Query =
            state == .delivered
            ? ""
            : """
            , batch_id = excluded.batch_id, batch_first = excluded.batch_first,
                event_count = excluded.event_count
            """
        return """
            log_row AS (
                INSERT INTO delivery_log AS l (
                    id, subscription_id, session_id, sequence, batch_id, batch_first, event_count,
                    state, died_at)
                SELECT \(UUID.version7()), subscription_id, session_id, \(sequence),
                    \(batch?.id), \(batch?.first), \(Int32(batch?.count ?? 1)),
                    \(state.rawValue), CASE WHEN \(state == .dead) THEN clock_timestamp() END
                FROM held
                ON CONFLICT (subscription_id, session_id, sequence) DO UPDATE SET
                    state = excluded.state, died_at = coalesce(excluded.died_at, l.died_at)
                    \(contents)
                RETURNING l.id
            ),
            \(attemptRow(attempt))
            """
    }

    /// Selects the places of the rows that log a subscription's deliveries in a session.
    ///
    /// In the order of their key, or a plan that was made while there was a row at most might read
    /// all that is logged of the subscription.
    static func selectRows(of subscription: Query, in session: Query) -> Query {
        """
        SELECT l.ctid AS row FROM delivery_log l
        WHERE l.subscription_id = \(subscription)
            AND l.session_id BETWEEN \(session) AND \(session)
        ORDER BY l.subscription_id, l.session_id, l.sequence
        """
    }

    /// Removes the log's row of the message that was tried before the claim, unless that is the one
    /// which ends with `sequence` and is logged: since its subscription was changed, its events are
    /// not asked for or are part of other messages.
    ///
    /// Expects `held(subscription_id, session_id)`.
    static func forgetTried(_ claim: DeliveryClaim, except sequence: Int64?) -> Query {
        guard let tried = claim.tried, tried.sequence != sequence else {
            return "forgotten AS (SELECT 1)"
        }
        return """
            forgotten AS (
                DELETE FROM delivery_log l USING held h
                WHERE \(Fragment.isDelivery("l", of: "h.subscription_id", in: "h.session_id"))
                    AND l.sequence = \(tried.sequence) AND l.state = 'waiting'
            )
            """
    }

    /// Inserts the row of an attempt; expects `log_row(id)`.
    static func attemptRow(_ attempt: DeliveryAttempt) -> Query {
        """
        attempt_row AS (
            INSERT INTO delivery_attempt (
                delivery_id, number, is_replay, attempted_at, duration_ms, status, reason, answer)
            SELECT r.id, 1 + coalesce((
                    SELECT max(a.number) FROM delivery_attempt a WHERE a.delivery_id = r.id), 0),
                \(attempt.isReplay), \(attempt.at),
                \(Int32(clamping: attempt.duration.milliseconds)),
                \(attempt.status.map(Int16.init(clamping:))), \(attempt.reason), \(attempt.answer)
            FROM log_row r
            -- A replay and the schedule may try the same message at the same time.
            ON CONFLICT (delivery_id, number) DO NOTHING
            RETURNING delivery_id, number
        ),
        old_attempt AS (
            DELETE FROM delivery_attempt a USING attempt_row r
            WHERE a.delivery_id = ANY (ARRAY[r.delivery_id])
                AND a.number <= r.number - \(Int32(loggedAttemptsMax))
        )
        """
    }

    /// Returns a page of a subscription's logged deliveries, from the newest.
    ///
    /// - Returns: nil when the tenant has no such subscription.
    package func deliveries(
        tenant: TenantID,
        subscription: SubscriptionID,
        state: LoggedDelivery.State?,
        before: DeliveryID?,
        limit: Int
    ) async throws(StoreError) -> ListPage<LoggedDelivery, DeliveryID>? {
        guard
            try await SubscriptionStore(database).subscription(tenant: tenant, id: subscription)
                != nil
        else {
            return nil
        }
        let end = before?.uuid ?? UUID.last
        let page: Query =
            if let state {
                """
                WHERE (l.state, l.subscription_id, l.id)
                    < (\(state.rawValue), \(subscription.uuid), \(end))
                ORDER BY l.state DESC, l.subscription_id DESC, l.id DESC LIMIT \(limit + 1)
                """
            } else {
                """
                WHERE (l.subscription_id, l.id) < (\(subscription.uuid), \(end))
                ORDER BY l.subscription_id DESC, l.id DESC LIMIT \(limit + 1)
                """
            }
        // In the order of its own index, or a plan may scan the deliveries of all subscriptions.
        // The range of a state begins with it, as only that index does: with another, the events of
        // all that is logged of the subscription would be looked up before the page is sorted.
        return try await loggedDeliveries(
            page,
            limit: limit,
            where: """
                l.subscription_id = \(subscription.uuid)
                AND (\(state?.rawValue)::text IS NULL OR l.state = \(state?.rawValue))
                """
        )
    }

    /// Returns a logged delivery of one of the tenant's subscriptions.
    package func delivery(
        tenant: TenantID,
        id: DeliveryID
    ) async throws(StoreError) -> LoggedDelivery? {
        let found = try await loggedDeliveries(
            """
            JOIN subscription b ON b.id = ANY (ARRAY[l.subscription_id])
                AND \(Fragment.isLivingSubscriptionByKey)
            WHERE l.id = \(id.uuid) AND b.tenant_id = \(tenant.uuid)
            """,
            limit: 1,
            where: "true"
        )
        guard found.unreadable.isEmpty else {
            throw StoreError(decoding: "a delivery of another release")
        }
        return found.first
    }

    /// Returns the deliveries `l` that `page` selects and for which `condition` is true, if their
    /// events are kept or have expired.
    private func loggedDeliveries(
        _ page: Query,
        limit: Int,
        where condition: Query
    ) async throws(StoreError) -> ListPage<LoggedDelivery, DeliveryID> {
        let rows = try await database.run(
            """
            SELECT l.id, l.subscription_id, l.event_id, l.kind,
                coalesce(s.client, c.identifier) AS client, s.identifier,
                l.sequence, l.batch_id, l.batch_first, l.event_count, l.state, l.died_at,
                CASE WHEN l.replay_due_at IS NOT NULL THEN l.replay_due_at
                    WHEN l.state = 'waiting' THEN d.due_at END AS next_attempt_at
            FROM (
                SELECT l.id, l.subscription_id, l.session_id, l.sequence, l.batch_id, l.batch_first,
                    l.event_count, l.state, l.died_at, l.replay_due_at, e.id AS event_id, e.kind
                FROM delivery_log l CROSS JOIN LATERAL (
                    \(EventRuns.select(
                        "\(EventRuns.identifier(ofEvent: "l.sequence")) AS id, r.kind",
                        of: "l.session_id",
                        holding: "l.sequence"
                    ))
                    UNION ALL SELECT NULL, NULL WHERE l.state = 'expired'
                ) e
                \(page)
            ) l
            LEFT JOIN session s ON s.id = ANY (ARRAY[l.session_id])
            LEFT JOIN client c ON c.id = ANY (ARRAY[l.session_id])
            LEFT JOIN delivery d
                ON \(Fragment.isDelivery(of: "l.subscription_id", in: "l.session_id"))
            WHERE \(condition)
            ORDER BY l.id DESC
            """
        )
        let ids = try rows.map { row throws(StoreError) in try row.decode("id", as: UUID.self) }
        let attempts = ids.isEmpty ? [:] : try await attempts(of: ids)
        return try ListPage(
            rows,
            limit: limit,
            place: { row throws(StoreError) in try row.delivery("id") },
            item: { row throws(StoreError) in try LoggedDelivery(row, attempts: attempts) }
        )
    }

    private func attempts(
        of deliveries: [UUID]
    ) async throws(StoreError) -> [UUID: [DeliveryAttempt]] {
        let rows = try await database.run(
            """
            SELECT delivery_id, is_replay, attempted_at, duration_ms, status, reason, answer
            FROM delivery_attempt WHERE delivery_id = ANY (\(deliveries))
            ORDER BY delivery_id, number
            """
        )
        var attempts: [UUID: [DeliveryAttempt]] = [:]
        for row in rows {
            attempts[try row.decode("delivery_id"), default: []].append(
                try DeliveryAttempt(row)
            )
        }
        return attempts
    }
}

extension DeliveryAttempt {
    fileprivate init(_ row: StoredRow) throws(StoreError) {
        self.init(
            at: try row.decode("attempted_at"),
            duration: .milliseconds(try row.decode("duration_ms", as: Int32.self)),
            status: try row.decodeIfPresent("status", as: Int16.self).map(Int.init),
            reason: try row.decodeIfPresent("reason"),
            answer: try row.decodeIfPresent("answer"),
            isReplay: try row.decode("is_replay")
        )
    }
}

extension LoggedDelivery {
    fileprivate init(_ row: StoredRow, attempts: [UUID: [DeliveryAttempt]]) throws(StoreError) {
        let id = try row.decode("id", as: UUID.self)
        let state = try row.word("state", as: State.self)
        self.init(
            id: DeliveryID(id),
            subscription: try row.subscription("subscription_id"),
            event: try row.decodeIfPresent("event_id"),
            kind: try row.decodeIfPresent("kind", as: String.self) == nil
                ? nil : try row.word("kind"),
            batch: try MessageBatch(row),
            firstExpired: state == .expired ? try row.decode("batch_first") : nil,
            client: try row.clientIfPresent("client"),
            sessionIdentifier: try row.decodeIfPresent("identifier"),
            sequence: try row.decode("sequence"),
            state: state,
            diedAt: try row.decodeIfPresent("died_at"),
            nextAttemptAt: try row.decodeIfPresent("next_attempt_at"),
            attempts: attempts[id] ?? []
        )
    }
}

extension MessageBatch {
    /// Decodes a batch; nil in the row of a message of one event.
    fileprivate init?(_ row: StoredRow) throws(StoreError) {
        guard let id = try row.decodeIfPresent("batch_id", as: UUID.self) else { return nil }
        self.init(
            id: id,
            first: try row.decode("batch_first"),
            count: Int(try row.decode("event_count", as: Int32.self))
        )
    }
}
