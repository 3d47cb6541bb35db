import Postgres
import TransferModel

/// The SQL that statements of several stores share; each part names the CTEs it expects.
enum Fragment {
    /// Returns whether a task asks its client before it begins, by its own options or, without any,
    /// those of its session.
    static func asksToBegin(task: Query, session: Query) -> Query {
        """
        coalesce((\(task)->>'asks_to_begin')::boolean,
            (\(session)->>'asks_to_begin')::boolean, false)
        """
    }

    /// Whether the origin may see the request of a task `t` in its session `s` twice, as in
    /// `TaskClaim.isIdempotent`.
    static let isIdempotent: Query = """
        coalesce((t.options->>'idempotent')::boolean, (s.options->>'idempotent')::boolean,
            t.method IS NULL OR t.method = ANY (\(TransferRequest.idempotentMethods)))
        """

    /// The CTE that makes the deliveries of sessions due whose events a statement writes.
    ///
    /// Expects `counter(session_id, base)`, whose row lock on the session orders this before or
    /// after the release of a delivery. A pair that is already due or claimed is locked but not
    /// written again; the CTE has a row for each that has become due.
    static let wake: Query = wake(of: "true")

    /// Returns ``wake`` for only those subscriptions `b` for which `condition` is true.
    static func wake(of condition: Query) -> Query {
        """
        wake AS (
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT b.id, b.log, b.base, now() FROM \(subscriptions()) b
            WHERE \(condition) ORDER BY b.log, b.id
            ON CONFLICT (subscription_id, session_id)
            DO UPDATE SET due_at = now() WHERE delivery.due_at IS NULL
            RETURNING subscription_id
        )
        """
    }

    /// Whether a delivery `d`, or what is logged of one, is that of a subscription in a session.
    ///
    /// The second column is compared as a range: with two lists, a plan that was made while the
    /// table had a row at most may look up the first alone, and later reads all deliveries of each
    /// subscription.
    static func isDelivery(
        _ d: Query = "d",
        of subscription: Query,
        in session: Query
    ) -> Query {
        """
        \(d).subscription_id = ANY (ARRAY[\(subscription)])
            AND \(d).session_id BETWEEN \(session) AND \(session)
        """
    }

    /// Whether a session `s` that is found by its key is living.
    ///
    /// The form keeps the planner from the partial index of living sessions: a plan made while
    /// there were few would read all of them for each look-up.
    static let isLivingByKey: Query = "num_nulls(s.invalidated_at) = 1"

    /// Whether a subscription `b` that is found by its key is living, in the same form.
    static let isLivingSubscriptionByKey: Query = "num_nulls(b.deleted_at) = 1"

    /// Returns the call that finds the living subscriptions to the logs of `counter` `c`,
    /// `(session_id, base)`, as `(log, base, id, event_types)`.
    ///
    /// It sees them as they are under the locks of the counters, and not as they were when the
    /// statement began: none that was made before an event occurred is overlooked.
    static func subscriptions(to counter: Query = "counter c") -> Query {
        """
        subscriptions_to(
            ARRAY(SELECT c.session_id FROM \(counter) ORDER BY c.session_id),
            ARRAY(SELECT c.base FROM \(counter) ORDER BY c.session_id))
        """
    }

    /// Returns the query for `columns` of the living subscriptions `b` to a session `s`.
    ///
    /// It makes three look-ups, however many subscriptions the tenant has for other sessions, as
    /// the function `subscriptions_to` does.
    static func selectSubscriptions(_ columns: Query) -> Query {
        """
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = s.tenant_id AND b.client IS NULL
            AND b.session_identifier IS NULL
        UNION ALL
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = s.tenant_id AND b.client = s.client
            AND b.session_identifier IS NULL
        UNION ALL
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = s.tenant_id AND b.client = s.client
            AND b.session_identifier = s.identifier COLLATE "C"
        """
    }

    /// Whether a change may be made to a row with that `revision`.
    static func hasRevision(_ revision: Query, _ condition: RevisionCondition) -> Query {
        """
        (\(condition.revisions)::int[] IS NULL OR \(revision) = ANY (\(condition.revisions)))
        """
    }
}
