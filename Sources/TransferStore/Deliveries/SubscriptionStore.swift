import Foundation
import Postgres
package import StandardWebhooks
package import TransferModel

/// Subscriptions and their signing secrets.
package struct SubscriptionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension SubscriptionStore {
    /// Stores a subscription, which receives the events written from now on: also those of
    /// statements that have begun before and wait for a session's counters.
    package func createSubscription(
        _ subscription: Subscription,
        secret: SigningSecret,
        idempotency: IdempotencyRecord? = nil
    ) async throws(StoreError) -> SubscriptionResult {
        let settings = subscription.settings
        let (sealer, id, tenant) = (database.sealer, subscription.id, subscription.tenant)
        let url = try sealer.seal(url: settings.url, at: .url(of: id, of: tenant))
        let headers = try sealer.seal(headers: settings.headers, at: .headers(of: id, of: tenant))
        let secret = try sealer.seal(secret.bytes, at: .signingSecret(of: id, of: tenant))
        let room = Database.hasRoom(
            in: """
                SELECT 1 FROM subscription x
                WHERE x.tenant_id = \(subscription.tenant.uuid) AND x.deleted_at IS NULL
                """,
            maximum: Quota.subscriptionsMax
        )
        let rows = try await IdempotencyStore(database).runOnce(
            """
            WITH counter AS (
                INSERT INTO subscription (
                    id, tenant_id, client, session_identifier, url, event_types, description,
                    headers, concurrency, rate_limit, ack_timeout_ms, delivery_form,
                    wake_up_throttling, disabled_at, disabled_reason, created_at)
                SELECT
                    \(subscription.id.uuid), \(subscription.tenant.uuid),
                    \(subscription.client?.name),
                    \(subscription.sessionIdentifier), \(url), \(settings.filter?.terms),
                    \(settings.description), \(headers)::text::jsonb,
                    \(settings.concurrency.map(Int16.init(clamping:))),
                    \(settings.rateLimit.map(Int16.init(clamping:))),
                    \(settings.ackTimeout.milliseconds), \(settings.form.rawValue),
                    \(settings.throttlesWakeUps),
                    \(subscription.disablement?.since),
                    \(subscription.disablement?.reason.rawValue), \(subscription.createdAt)
                WHERE \(room)
                RETURNING id
            ),
            secret_row AS (
                INSERT INTO signing_secret (subscription_id, number, secret)
                SELECT id, 1, \(secret) FROM counter
            ),
            \(try IdempotencyStore(database).keepAnswer(idempotency, tenant: tenant))
            SELECT id FROM counter
            """,
            keeping: idempotency
        )
        if let rows {
            guard !rows.isEmpty else {
                throw .quotaExceeded(Quota(.subscriptions, maximum: Quota.subscriptionsMax))
            }
            return .created
        }
        let answer = try await IdempotencyStore(database).keptAnswer(
            idempotency,
            tenant: subscription.tenant
        )
        return answer.map { .replay($0) } ?? .idempotencyMismatch
    }

    /// Returns the tenant's subscription `id`.
    package func subscription(
        tenant: TenantID,
        id: SubscriptionID
    ) async throws(StoreError) -> Subscription? {
        let rows = try await database.run(
            """
            SELECT \(Self.subscriptionColumns) FROM subscription b
            WHERE b.tenant_id = \(tenant.uuid) AND b.id = \(id.uuid) AND b.deleted_at IS NULL
            """
        )
        guard let row = rows.first else { return nil }
        return try Subscription(row)
    }

    /// Returns a page of the tenant's subscriptions in order of creation.
    package func subscriptions(
        tenant: TenantID,
        after: SubscriptionID?,
        limit: Int
    ) async throws(StoreError) -> ListPage<Subscription, SubscriptionID> {
        let rows = try await database.run(
            """
            SELECT \(Self.subscriptionColumns) FROM subscription b
            WHERE b.tenant_id = \(tenant.uuid) AND b.deleted_at IS NULL
                AND (\(after?.uuid)::uuid IS NULL OR b.id > \(after?.uuid))
            ORDER BY b.id LIMIT \(limit + 1)
            """
        )
        return try ListPage(
            rows,
            limit: limit,
            place: { row throws(StoreError) in try row.subscription("id") },
            item: Subscription.init
        )
    }

    /// Changes a subscription, if `condition` is met; messages that are already being sent are not
    /// affected.
    ///
    /// Changing the URL or the kinds of events, enabling the subscription and ending its throttling
    /// make its waiting deliveries due. Messages that wait for their acknowledgement are sent again
    /// only to a new URL, or when the subscription was disabled; they are passed over when they are
    /// not asked for any more.
    package func changeSubscription(
        tenant: TenantID,
        id: SubscriptionID,
        _ change: SubscriptionChange,
        if condition: RevisionCondition = .none
    ) async throws(StoreError) -> SubscriptionChangeResult {
        let url = try change.url.map { url throws(StoreError) in
            try database.sealer.seal(url: url, at: .url(of: id, of: tenant))
        }
        let headers = try change.headers.map { headers throws(StoreError) in
            try database.sealer.seal(headers: headers, at: .headers(of: id, of: tenant))
        }
        let concurrency = (change.concurrency ?? nil).map(Int16.init(clamping:))
        let rateLimit = (change.rateLimit ?? nil).map(Int16.init(clamping:))
        let isNewStart = change.isEnabled == true || change.url != nil
        let isRestart = isNewStart || change.throttlesWakeUps == false || change.filter != nil
        let rows = try await database.run([
            // Who counts a failure holds the row too: the next statement sees what was counted, or
            // the failure is found to be one of the subscription as it was.
            Self.lock(id, of: tenant),
            """
            WITH changed AS (
                UPDATE subscription b SET
                    revision = b.revision + 1,
                    url = coalesce(\(url), b.url),
                    event_types = CASE WHEN \(change.filter != nil)
                        THEN \((change.filter ?? nil)?.terms) ELSE b.event_types END,
                    description = CASE WHEN \(change.description != nil)
                        THEN \(change.description ?? nil) ELSE b.description END,
                    headers = coalesce(\(headers)::text::jsonb, b.headers),
                    concurrency = CASE WHEN \(change.concurrency != nil)
                        THEN \(concurrency) ELSE b.concurrency END,
                    rate_limit = CASE WHEN \(change.rateLimit != nil)
                        THEN \(rateLimit) ELSE b.rate_limit END,
                    ack_timeout_ms = coalesce(
                        \(change.ackTimeout?.milliseconds), b.ack_timeout_ms),
                    delivery_form = coalesce(\(change.form?.rawValue), b.delivery_form),
                    wake_up_throttling = coalesce(
                        \(change.throttlesWakeUps), b.wake_up_throttling),
                    disabled_at = CASE \(change.isEnabled)
                        WHEN true THEN NULL WHEN false THEN coalesce(b.disabled_at, now())
                        ELSE b.disabled_at END,
                    disabled_reason = CASE \(change.isEnabled)
                        WHEN true THEN NULL WHEN false THEN coalesce(b.disabled_reason, 'client')
                        ELSE b.disabled_reason END
                WHERE b.tenant_id = \(tenant.uuid) AND b.id = \(id.uuid) AND b.deleted_at IS NULL
                    AND \(Fragment.hasRevision("b.revision", condition))
                RETURNING \(Self.subscriptionColumns)
            ),
            -- What was wrong with it counts no longer.
            fresh AS (
                DELETE FROM failure_streak f USING changed
                WHERE f.subscription_id = ANY (ARRAY[changed.id])
                    AND \(isNewStart)
                RETURNING f.subscription_id
            ),
            -- After the failures, as where a message is taken.
            restart_row AS (\(DeliveryStore.storeRestart("""
                SELECT c.id, \(change.endsAwaiting) OR \(change.isEnabled == true) AND (
                    -- As it was before this statement.
                    SELECT b.disabled_at IS NOT NULL FROM subscription b WHERE b.id = c.id)
                FROM changed c WHERE \(isRestart) AND (SELECT count(*) FROM fresh) >= 0
                """)))
            SELECT * FROM changed
            """,
        ])[1]
        if isRestart, !rows.isEmpty { await beginAnew(id, of: tenant) }
        if let row = rows.first { return .changed(try Subscription(row)) }
        guard condition != .none else { return .unknownSubscription }
        return try await subscription(tenant: tenant, id: id) == nil
            ? .unknownSubscription : .conditionFailed
    }

    /// Makes what waits for a changed subscription due.
    ///
    /// It does so on its own, so that it waits for a claim that has seen the subscription as it
    /// was, and undoes the waits which that claim has set. This never fails, because the change is
    /// stored: so is the restart of the deliveries, and requests are looked at again soon in any
    /// case.
    private func beginAnew(_ id: SubscriptionID, of tenant: TenantID) async {
        await DeliveryStore(database).beginRestart(of: id)
        do throws(StoreError) {
            _ = try await database.run(
                TimerStore.makeDue(waitingFor: [.subscription], of: tenant)
            )
        } catch {}
    }

    /// Ends a subscription; deliveries that are being sent may still arrive.
    ///
    /// What waits to be delivered becomes idle when it is due, by the claim that meets it.
    ///
    /// - Returns: false when the tenant has no such subscription.
    package func deleteSubscription(
        tenant: TenantID,
        id: SubscriptionID
    ) async throws(StoreError) -> Bool {
        let rows = try await database.run([
            // As for a change: a failure that is being counted is seen.
            Self.lock(id, of: tenant),
            """
            WITH ended AS (
                UPDATE subscription SET deleted_at = now()
                WHERE tenant_id = \(tenant.uuid) AND id = \(id.uuid) AND deleted_at IS NULL
                RETURNING id
            ),
            streak_gone AS (
                DELETE FROM failure_streak f USING ended
                WHERE f.subscription_id = ANY (ARRAY[ended.id])
                RETURNING f.subscription_id
            ),
            -- After the failures, as where a message is taken.
            restart_gone AS (
                DELETE FROM delivery_restart r USING ended
                WHERE r.subscription_id = ANY (ARRAY[ended.id])
                    AND (SELECT count(*) FROM streak_gone) >= 0
            ),
            wake_up_gone AS (
                DELETE FROM wake_up w USING ended WHERE w.subscription_id = ANY (ARRAY[ended.id])
            ),
            secret_gone AS (
                DELETE FROM signing_secret k USING ended
                WHERE k.subscription_id = ANY (ARRAY[ended.id])
            )
            SELECT id FROM ended
            """,
        ])[1]
        return !rows.isEmpty
    }

    /// Returns the statement that locks a subscription for a transaction whose next statement
    /// changes it.
    private static func lock(_ id: SubscriptionID, of tenant: TenantID) -> Query {
        """
        SELECT 1 FROM subscription b
        WHERE b.tenant_id = \(tenant.uuid) AND b.id = \(id.uuid) FOR NO KEY UPDATE
        """
    }

    /// The columns of a subscription `b`.
    private static let subscriptionColumns: Query = """
        b.id, b.tenant_id, b.client, b.session_identifier, b.url, b.event_types, b.description,
        b.headers, b.concurrency, b.rate_limit, b.ack_timeout_ms, b.delivery_form,
        b.wake_up_throttling, b.disabled_at, b.disabled_reason, b.created_at, b.revision
        """
}

extension SubscriptionChange {
    /// Whether messages no longer wait for their acknowledgement: they go to another receiver, or
    /// are not asked for.
    fileprivate var endsAwaiting: Bool {
        if url != nil { return true }
        guard case .some(.some(let kinds)) = filter else { return false }
        return !kinds.contains(.sessionEventsFinished)
    }
}

extension Subscription: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let disabledAt = try row.decodeIfPresent("disabled_at", as: Date.self)
        let id = try row.subscription("id")
        let tenant = try row.tenant("tenant_id")
        self.init(
            id: id,
            tenant: tenant,
            client: try row.clientIfPresent("client"),
            sessionIdentifier: try row.decodeIfPresent("session_identifier"),
            settings: SubscriptionSettings(
                url: try row.url("url", at: .url(of: id, of: tenant)),
                filter: try row.eventFilter("event_types"),
                description: try row.decodeIfPresent("description"),
                headers: try row.headers("headers", at: .headers(of: id, of: tenant)),
                concurrency: try row.decodeIfPresent("concurrency", as: Int16.self).map(Int.init),
                rateLimit: try row.decodeIfPresent("rate_limit", as: Int16.self).map(Int.init),
                ackTimeout: try row.milliseconds("ack_timeout_ms"),
                form: try row.word("delivery_form"),
                throttlesWakeUps: try row.decode("wake_up_throttling")
            ),
            disablement: try disabledAt.map { since throws(StoreError) in
                Disablement(reason: try row.word("disabled_reason"), since: since)
            },
            createdAt: try row.decode("created_at"),
            revision: try row.decode("revision")
        )
    }
}
