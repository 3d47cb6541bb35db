import Postgres
import TransferModel

/// Parts of the statements that a claim's holder runs.
extension DeliveryClaim {
    /// Whether the subscription is as it was claimed, with the same signing keys.
    ///
    /// Whoever disables a subscription increases its revision.
    var isUnchanged: Query {
        """
        EXISTS (
            SELECT 1 FROM subscription b
            WHERE b.id = \(subscription.uuid) AND \(SubscriptionStore.version) = \(version)
        )
        """
    }

    /// Whether the subscription is as it was claimed and was not paused by its receiver, and the
    /// client was not force-quit.
    ///
    /// The pause of one with too many failures does not count: it may have begun with this claim,
    /// whose message is the probe. A force-quit ends the claims that it sees, and not one that was
    /// being made beside it.
    func isCurrent(_ health: DeliveryHealth) -> Query {
        """
        (\(isUnchanged) AND NOT EXISTS (
            SELECT 1 FROM failure_streak f
            WHERE f.subscription_id = \(subscription.uuid)
                AND f.failures < \(Int32(health.failuresMax))
                AND f.paused_until > clock_timestamp()
        ) AND NOT \(Self.isAway(
            session: "\(session.uuid)::uuid",
            orOf: "(SELECT b.client FROM subscription b WHERE b.id = \(subscription.uuid))"
        )))
        """
    }

    /// Returns the assignment to `launches_after` when the cursor moves to `sequence`, or stays for
    /// nil: launches that it passes without asking for them have reached nobody.
    func keepLaunches(through sequence: Int64?) -> Query {
        let areAskedFor = filter?.contains(.backgroundTaskLaunch) ?? true
        return """
            launches_after = CASE WHEN launches_after IS NOT NULL AND \(!areAskedFor)
                THEN coalesce(\(sequence), launches_after) ELSE launches_after END
            """
    }

    /// Whether there is a client that ``selectAwayClient(ofSession:orOf:)`` selects; looked up only
    /// when any client was force-quit.
    static func isAway(session: Query, orOf client: Query) -> Query {
        """
        CASE WHEN EXISTS (SELECT 1 FROM client x WHERE x.lifecycle = 'force_quit')
            THEN EXISTS (\(selectAwayClient(ofSession: session, orOf: client)))
            ELSE false END
        """
    }

    /// Selects the force-quit client of a session or of a log of its own; or, if a tenant is given
    /// in place of a session, the subscription's client if it was force-quit.
    static func selectAwayClient(ofSession session: Query, orOf client: Query) -> Query {
        """
        SELECT 1 FROM (SELECT \(session) AS id) x
        LEFT JOIN session s ON s.id = ANY (ARRAY[x.id])
        LEFT JOIN client o ON o.id = ANY (ARRAY[x.id])
        JOIN client c ON c.tenant_id = ANY (ARRAY[coalesce(s.tenant_id, o.tenant_id, x.id)])
            AND c.identifier = ANY (ARRAY[coalesce(s.client, o.identifier, \(client))])
        WHERE c.lifecycle = 'force_quit'
        """
    }

    /// The assignments to a delivery whose next message is tried for the first time.
    static let forgetTries: Query = "attempt = 0, tried_sequence = NULL, tried_batch = NULL"

    /// Returns the assignments to a delivery whose message that ends with `sequence` was tried.
    ///
    /// The tries of another message, which was the next one until the subscription was changed, are
    /// not those of this one.
    static func recordTry(
        of sequence: Int64,
        _ batch: MessageBatch? = nil,
        counts: Bool = true
    ) -> Query {
        let increment: Query = counts ? "1" : "0"
        return """
            attempt = least(32767, \(increment) + CASE
                WHEN tried_sequence = \(sequence)
                    AND tried_batch IS NOT DISTINCT FROM \(batch?.id)
                THEN attempt ELSE 0 END),
            tried_sequence = \(sequence), tried_batch = \(batch?.id)
            """
    }
}
