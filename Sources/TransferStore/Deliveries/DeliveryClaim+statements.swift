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

    /// The statement that locks the claim's delivery and then its subscription, for a transaction
    /// whose next statement asks whether that ``isUnchanged``.
    ///
    /// A statement sees rows as they were before it waited for a lock. After these there is no
    /// wait: a change of the subscription is seen, or comes after the whole transaction and meets
    /// what that has recorded.
    var lock: Query {
        """
        SELECT 1 FROM delivery d JOIN subscription b ON b.id = ANY (ARRAY[d.subscription_id])
        WHERE d.subscription_id = \(subscription.uuid) AND d.session_id = \(session.uuid)
            AND d.fence = \(fence.rawValue)
        FOR UPDATE OF d FOR NO KEY UPDATE OF b
        """
    }

    /// Whether the subscription is as it was claimed and is not paused, and the client was not
    /// force-quit.
    ///
    /// The pause of a probe holds back everything but the probe. A force-quit ends the claims that
    /// it sees, and not one that was being made beside it.
    var isCurrent: Query {
        """
        (\(isUnchanged) AND NOT EXISTS (
            SELECT 1 FROM failure_streak f
            WHERE f.subscription_id = \(subscription.uuid)
                AND f.paused_until > clock_timestamp() AND \(isNoProbe)
        ) AND NOT \(Self.isAway(
            session: "\(session.uuid)::uuid",
            orOf: "(SELECT b.client FROM subscription b WHERE b.id = \(subscription.uuid))"
        )))
        """
    }

    /// Returns whether the subscription with the streak `f` is spared, so that this claim would not
    /// have been made any more: it has too many failures, and waits or is being probed.
    func isSpared(_ health: DeliveryHealth) -> Query {
        """
        (f.failures >= \(Int32(health.failuresMax))
            AND coalesce(f.paused_until > clock_timestamp(), false) AND \(isNoProbe))
        """
    }

    /// Whether this is not the claim that probes the subscription with the streak `f`.
    private var isNoProbe: Query { "f.probe_fence IS DISTINCT FROM \(fence.rawValue)" }

    /// Returns whether the log of the claim has come as far as the event `sequence`, or is gone.
    ///
    /// Events may have been read from a server that failed before its standby had them. The server
    /// in its place gives their numbers to other events, which nobody has sent. A record that would
    /// pass those finds the claim stale; its lease ends it, and the next reads the log as it is.
    func isInLog(_ sequence: Int64) -> Query {
        """
        NOT EXISTS (
            SELECT 1 FROM session_progress p
            WHERE p.session_id = \(session.uuid) AND p.last_sequence < \(sequence)
        )
        """
    }

    /// Returns the position of a `delivery` whose cursor moves to `sequence`; or only to `certain`
    /// when the subscription asks for other events than when it was claimed.
    ///
    /// The events were read before the statement. If that sees no other kinds, all of them happened
    /// before any change, and may be passed by the kinds of the claim: that takes no lock.
    func cursor(through sequence: Int64, certain: Int64) -> Query {
        """
        CASE WHEN EXISTS (
            SELECT 1 FROM subscription b
            WHERE b.id = \(subscription.uuid)
                AND b.event_types IS DISTINCT FROM \(filter?.terms)
        ) THEN greatest(acknowledged_sequence, \(certain)) ELSE \(sequence) END
        """
    }

    /// Returns the assignment to `launches_after` when the cursor moves to `cursor`: launches that
    /// it passes without asking for them have reached nobody.
    func keepLaunches(through cursor: Query) -> Query {
        let areAskedFor = filter?.contains(.backgroundTaskLaunch) ?? true
        return """
            launches_after = CASE WHEN launches_after IS NOT NULL AND \(!areAskedFor)
                THEN \(cursor) ELSE launches_after END
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

    /// The CTE that removes what a transaction wrote that had found its subscription living and was
    /// committed after this was gone.
    ///
    /// Expects `due(subscription_id, session_id, is_orphan)`, whose deliveries are locked.
    static let removeOrphans: Query = """
        orphan_row AS (
            DELETE FROM delivery d USING due u
            WHERE u.is_orphan
                AND \(Fragment.isDelivery(of: "u.subscription_id", in: "u.session_id"))
        )
        """

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
