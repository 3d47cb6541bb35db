package import Foundation
import Postgres
package import StandardWebhooks
package import TransferModel
import TransferSecrets

extension SubscriptionStore {
    /// Gives a subscription a new signing secret.
    ///
    /// The previous secrets also sign until `expiry`, or until the expiry that an earlier rotation
    /// gave them; without an expiry they are removed at once.
    package func rotateSecret(
        tenant: TenantID,
        id: SubscriptionID,
        to secret: SigningSecret,
        othersExpireAt expiry: Date?,
        idempotency: IdempotencyRecord? = nil
    ) async throws(StoreError) -> RotationResult {
        let target: Query = """
            SELECT id FROM subscription
            WHERE tenant_id = \(tenant.uuid) AND id = \(id.uuid) AND deleted_at IS NULL
            """
        let sealed = try database.sealer.seal(
            secret.bytes,
            at: .signingSecret(of: id, of: tenant)
        )
        // The first statement waits for another rotation; the second then sees its key.
        let rows = try await IdempotencyStore(database).runOnce(
            [
                "\(target) FOR UPDATE",
                """
                WITH target AS (\(target)),
                -- Of those that signed until now, all go on or none does.
                room AS (
                    SELECT t.id FROM target t WHERE \(expiry == nil) OR (
                        SELECT count(*) FROM signing_secret k WHERE k.subscription_id = t.id
                            AND (k.expires_at IS NULL OR k.expires_at > now())
                    ) < \(Int64(SigningSecret.livingMax))
                ),
                retired AS (
                    UPDATE signing_secret k
                    SET expires_at = least(coalesce(k.expires_at, 'infinity'), coalesce(\(expiry), now()))
                    FROM room r WHERE k.subscription_id = r.id
                        AND (k.expires_at IS NULL OR k.expires_at > now())
                    RETURNING k.subscription_id, k.number
                ),
                expired AS (
                    DELETE FROM signing_secret k USING room r
                    WHERE k.subscription_id = r.id AND k.expires_at <= now()
                ),
                counter AS (
                    INSERT INTO signing_secret (subscription_id, number, secret)
                    SELECT r.subscription_id, max(r.number) + 1, \(sealed)
                    FROM retired r GROUP BY r.subscription_id
                    RETURNING subscription_id
                ),
                \(try IdempotencyStore(database).keepAnswer(idempotency, tenant: tenant))
                SELECT EXISTS (SELECT 1 FROM target) AS is_known,
                    EXISTS (SELECT 1 FROM counter) AS is_rotated
                """,
            ],
            keeping: idempotency
        )
        guard let rows else {
            return try await IdempotencyStore(database).keptAnswer(idempotency, tenant: tenant).map
            { .replay($0) }
                ?? .idempotencyMismatch
        }
        guard let row = rows[1].first, try row.decode("is_known") else {
            return .unknownSubscription
        }
        return try row.decode("is_rotated") ? .rotated : .tooManySecrets
    }

    /// The current signing keys of a subscription `b`, from the newest.
    static let livingSecrets = livingKeys("k.secret")

    /// What differs after every change to a subscription `b` and to its current signing keys.
    ///
    /// The revision alone does not: a rotation, or the end of a key, is no change of the
    /// subscription for a conditional one.
    static let version: Query = "(b.revision || \(livingKeys("k.number")))"

    private static func livingKeys(_ column: Query) -> Query {
        """
        ARRAY(
            SELECT \(column) FROM signing_secret k
            WHERE k.subscription_id = b.id AND (k.expires_at IS NULL OR k.expires_at > now())
            ORDER BY k.number DESC LIMIT \(SigningSecret.livingMax)
        )
        """
    }
}
