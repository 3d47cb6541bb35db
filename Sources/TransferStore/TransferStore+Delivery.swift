import Foundation
import Postgres
package import TransferModel

extension TransferStore {
    /// After which a delivery of a disabled subscription is looked at again, should the moment of
    /// its being enabled have been missed.
    private static let disabledPause: Duration = .seconds(3600)
    /// The longest stored description of a delivery's failure, in bytes.
    private static let deliveryErrorBytesMax = 200

    /// Gives due deliveries to this instance for the time of `lease`.
    package func claimDeliveries(
        _ fences: WorkerIdentity.Reservation,
        limit: Int,
        lease: Duration
    ) async throws(StoreError) -> [DeliveryClaim] {
        let rows = try await run(
            """
            WITH alive AS MATERIALIZED (
                SELECT incarnation FROM worker WHERE incarnation = \(fences.incarnation)
                FOR KEY SHARE
            ),
            due AS MATERIALIZED (
                SELECT d.subscription_id, d.session_id, b.disabled_at IS NOT NULL AS is_disabled
                FROM delivery d
                JOIN subscription b ON b.id = d.subscription_id AND b.deleted_at IS NULL
                WHERE d.due_at <= clock_timestamp()
                ORDER BY d.due_at LIMIT \(limit) FOR UPDATE OF d SKIP LOCKED
            ),
            -- Out of the way of the others; being enabled makes them due again.
            postponed AS (
                UPDATE delivery d SET
                    worker = NULL, fence = NULL,
                    due_at = clock_timestamp() + \(Self.disabledPause.milliseconds) * interval '1 ms'
                FROM due u
                WHERE u.is_disabled AND d.subscription_id = u.subscription_id
                    AND d.session_id = u.session_id
            ),
            numbered AS (
                SELECT *, row_number() OVER () - 1 AS number FROM due WHERE NOT is_disabled
            ),
            mine AS (
                UPDATE delivery d SET
                    worker = \(fences.incarnation),
                    fence = \(fences.first.rawValue) + n.number,
                    due_at = clock_timestamp() + \(lease.milliseconds) * interval '1 ms'
                FROM numbered n, alive
                WHERE d.subscription_id = n.subscription_id AND d.session_id = n.session_id
                RETURNING d.subscription_id, d.session_id, d.fence, d.acknowledged_sequence,
                    d.attempt
            )
            SELECT m.*, b.url, b.headers, \(Self.livingSecrets) AS secrets, b.event_types,
                b.concurrency, b.rate_limit
            FROM mine m JOIN subscription b ON b.id = m.subscription_id
            """
        )
        return try decoding { () throws(PostgresError) in
            try rows.map { row throws(PostgresError) in try DeliveryClaim(row) }
        }
    }

    /// Moves a delivery's cursor behind what was acknowledged or is not asked for.
    ///
    /// - Returns: false when the claim is stale and its holder must stop.
    package func recordDelivered(
        _ claim: DeliveryClaim,
        through sequence: Int64,
        status: Int?,
        lease: Duration
    ) async throws(StoreError) -> Bool {
        let rows = try await run(
            """
            UPDATE delivery SET
                acknowledged_sequence = \(sequence), attempt = 0, last_error = NULL,
                last_status = coalesce(\(status.map(Int16.init(clamping:))), last_status),
                attempted_at = clock_timestamp(),
                due_at = clock_timestamp() + \(lease.milliseconds) * interval '1 ms'
            WHERE subscription_id = \(claim.subscription.uuid)
                AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
                AND acknowledged_sequence <= \(sequence)
            """
        )
        return rows.affectedCount == 1
    }

    /// Counts a failed try and sets the delivery to wait; its claim ends.
    ///
    /// - Returns: false when the claim is stale.
    package func recordDeliveryFailed(
        _ claim: DeliveryClaim,
        status: Int?,
        error: String,
        retryAfter: Duration
    ) async throws(StoreError) -> Bool {
        let error = String(decoding: error.utf8.prefix(Self.deliveryErrorBytesMax), as: UTF8.self)
        let rows = try await run(
            """
            UPDATE delivery SET
                attempt = least(attempt + 1, 32767),
                last_status = \(status.map(Int16.init(clamping:))),
                last_error = \(error),
                attempted_at = clock_timestamp(),
                due_at = clock_timestamp() + \(retryAfter.milliseconds) * interval '1 ms',
                worker = NULL, fence = NULL
            WHERE subscription_id = \(claim.subscription.uuid)
                AND session_id = \(claim.session.uuid) AND fence = \(claim.fence.rawValue)
            """
        )
        return rows.affectedCount == 1
    }

    /// Ends a claim: the delivery is idle, or due at once if there are further events.
    ///
    /// The first statement waits for whoever is writing events of the session; the second then
    /// sees them. Without the lock such events could be overlooked by both sides.
    ///
    /// - Returns: false when the claim is stale.
    package func releaseDelivery(_ claim: DeliveryClaim) async throws(StoreError) -> Bool {
        let rows = try await run([
            """
            SELECT 1 FROM session_progress WHERE session_id = \(claim.session.uuid) FOR UPDATE
            """,
            """
            UPDATE delivery d SET
                worker = NULL, fence = NULL,
                due_at = CASE
                    WHEN p.last_sequence > d.acknowledged_sequence THEN clock_timestamp() END
            FROM session_progress p
            WHERE p.session_id = d.session_id
                AND d.subscription_id = \(claim.subscription.uuid)
                AND d.session_id = \(claim.session.uuid) AND d.fence = \(claim.fence.rawValue)
            """,
        ])
        return rows[1].affectedCount == 1
    }
}

extension DeliveryClaim {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(
            subscription: SubscriptionID(try row.decode("subscription_id", as: UUID.self)),
            session: try row.session("session_id"),
            fence: try row.fence("fence"),
            acknowledgedSequence: try row.decode("acknowledged_sequence"),
            attempt: Int(try row.decode("attempt", as: Int16.self)),
            endpoint: try Endpoint(row),
            filter: try row.eventFilter("event_types"),
            concurrency: try row.decodeIfPresent("concurrency", as: Int16.self).map(Int.init),
            rateLimit: try row.decodeIfPresent("rate_limit", as: Int16.self).map(Int.init)
        )
    }
}

extension Endpoint {
    /// From the columns `url`, `headers` and `secrets`.
    init(_ row: Row) throws(PostgresError) {
        let secrets = try row.decode("secrets", as: [[UInt8]].self)
        guard !secrets.isEmpty else {
            throw PostgresError(decoding: "a subscription without a signing secret")
        }
        self.init(
            url: try row.decode("url"),
            headers: try row.headers("headers"),
            secrets: secrets.map(SigningSecret.init(bytes:))
        )
    }
}
