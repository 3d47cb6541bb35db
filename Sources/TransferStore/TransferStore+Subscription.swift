import Foundation
import Postgres
package import TransferModel

/// What became of a request to create a subscription.
package enum SubscriptionResult: Sendable {
    case created
    /// The request was answered before; nothing was done now.
    case replay(IdempotencyRecord.Response)
    /// The idempotency key belongs to another request.
    case idempotencyMismatch
}

extension TransferStore {
    /// Stores a subscription: it gets the events written from now on.
    package func createSubscription(
        _ subscription: Subscription,
        secret: SigningSecret,
        idempotency: IdempotencyRecord? = nil
    ) async throws(StoreError) -> SubscriptionResult {
        let kinds = subscription.kinds.map { $0.map(\.rawValue) }
        let rows = try await runOnce(
            """
            WITH counter AS (
                INSERT INTO subscription (
                    id, tenant_id, session_identifier, url, kinds, secret, created_at)
                VALUES (
                    \(subscription.id.uuid), \(subscription.tenant.uuid),
                    \(subscription.sessionIdentifier), \(subscription.url), \(kinds),
                    \(secret.bytes), \(subscription.createdAt))
                RETURNING id
            ),
            \(Self.keepAnswer(idempotency, tenant: subscription.tenant))
            SELECT id FROM counter
            """,
            keeping: idempotency
        )
        if rows != nil { return .created }
        guard let idempotency else { throw .idempotencyKeyInUse }
        let found = try await lookUp(
            idempotencyKey: idempotency.key,
            requestSHA256: idempotency.requestSHA256,
            tenant: subscription.tenant
        )
        return switch found {
        case .replay(let response): .replay(response)
        case .mismatch: .idempotencyMismatch
        case .none: throw .idempotencyKeyInUse
        }
    }

    /// The tenant's subscription `id`.
    package func subscription(
        tenant: TenantID,
        id: SubscriptionID
    ) async throws(StoreError) -> Subscription? {
        let rows = try await run(
            """
            \(Self.selectSubscription)
            WHERE tenant_id = \(tenant.uuid) AND id = \(id.uuid) AND deleted_at IS NULL
            """
        )
        return try decoding { () throws(PostgresError) in
            guard let row = rows.first else { return nil }
            return try Subscription(row)
        }
    }

    /// A page of the tenant's subscriptions in order of creation.
    package func subscriptions(
        tenant: TenantID,
        after: SubscriptionID?,
        limit: Int
    ) async throws(StoreError) -> [Subscription] {
        let rows = try await run(
            """
            \(Self.selectSubscription)
            WHERE tenant_id = \(tenant.uuid) AND deleted_at IS NULL
                AND (\(after?.uuid)::uuid IS NULL OR id > \(after?.uuid))
            ORDER BY id LIMIT \(limit)
            """
        )
        return try decoding { () throws(PostgresError) in
            try rows.map { row throws(PostgresError) in try Subscription(row) }
        }
    }

    /// Ends a subscription; a delivery that is on its way may still arrive.
    ///
    /// - Returns: false when the tenant has no such subscription.
    package func deleteSubscription(
        tenant: TenantID,
        id: SubscriptionID
    ) async throws(StoreError) -> Bool {
        let rows = try await run(
            """
            WITH ended AS (
                UPDATE subscription SET deleted_at = now()
                WHERE tenant_id = \(tenant.uuid) AND id = \(id.uuid) AND deleted_at IS NULL
                RETURNING id
            ),
            idle AS (
                UPDATE delivery d SET due_at = NULL, worker = NULL, fence = NULL
                FROM ended WHERE d.subscription_id = ended.id
            )
            SELECT id FROM ended
            """
        )
        return !rows.isEmpty
    }

    private static let selectSubscription: Query = """
        SELECT id, tenant_id, session_identifier, url, kinds, created_at FROM subscription
        """
}

extension Subscription {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(
            id: SubscriptionID(try row.decode("id", as: UUID.self)),
            tenant: try row.tenant("tenant_id"),
            sessionIdentifier: try row.decodeIfPresent("session_identifier"),
            url: try row.decode("url"),
            kinds: try row.kinds("kinds"),
            createdAt: try row.decode("created_at")
        )
    }
}

extension Row {
    /// Nil for every kind; a kind that this version does not know is left out.
    func kinds(_ column: String) throws(PostgresError) -> [SessionEvent.Kind]? {
        try decodeIfPresent(column, as: [String].self)
            .map { $0.compactMap(SessionEvent.Kind.init(rawValue:)) }
    }
}
