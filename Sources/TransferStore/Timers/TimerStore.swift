import Postgres
import TransferModel

/// The moments at which clients and their background tasks have to be looked at, and what is done
/// then.
///
/// A moment is a reminder and no decision: whoever looks locks the client and judges by its state.
/// Two who look at once, or one who looks too early, do nothing wrong.
package struct TimerStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }

    /// The number of subjects that one call looks at.
    package static let turnMax = 500
}

extension TimerStore {
    /// Returns the time until the next moment, zero when it is past; nil when there is none.
    package func untilNextTimer() async throws(StoreError) -> Duration? {
        let rows = try await database.run(
            """
            SELECT ceil(extract(epoch FROM min(t.due_at) - clock_timestamp()) * 1000)::bigint AS ms
            FROM (VALUES ('client'), ('request'), ('run')) AS k (kind)
            CROSS JOIN LATERAL (
                SELECT x.due_at FROM timer x WHERE x.kind = k.kind ORDER BY x.due_at LIMIT 1) t
            """
        )
        guard let wait = try rows.first?.decodeIfPresent("ms", as: Int64.self) else { return nil }
        return max(.milliseconds(wait), .zero)
    }

    /// Selects the due subjects of a kind, of which those after the limit wait for the next turn.
    static func due(_ kind: Query, and condition: Query = "true") -> Query {
        """
        SELECT t.subject FROM timer t
        WHERE t.kind = \(kind) AND t.due_at <= now() AND \(condition)
        ORDER BY t.due_at LIMIT \(turnMax)
        """
    }
}

extension TimerStore {
    /// Does what is due for clients in the background: announces the end of their assertions,
    /// suspends those that hold none, and terminates those that have not ended theirs.
    ///
    /// A client whose row is locked is left for the next turn.
    ///
    /// - Returns: the number of clients looked at.
    package func advanceClients() async throws(StoreError) -> Int {
        let fence = Int64.random(in: 1...Int64.max)
        let held = Self.due("'client'", and: "t.fence = \(fence)")
        let rows = try await database.run(
            [
                // The lock first, so that the next statement sees all that was done under it.
                """
                WITH locked AS MATERIALIZED (
                    SELECT c.id FROM client c WHERE c.id = ANY (ARRAY(\(Self.due("'client'"))))
                    ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED
                )
                UPDATE timer t SET fence = \(fence) FROM locked l
                WHERE t.subject = ANY (ARRAY[l.id])
                """,
                """
                WITH state AS MATERIALIZED (
                    SELECT c.id, c.tenant_id, c.lifecycle AS before, c.assertions_end_at,
                        CASE
                            WHEN a.held = 0 AND c.grace_ends_at <= now() THEN 'suspended'
                            WHEN a.held > 0 AND c.assertions_end_at <= now() THEN 'terminated'
                            END AS lifecycle,
                        CASE WHEN a.held = 0 THEN 'grace_ended' ELSE 'assertion_leaked' END
                            AS reason
                    FROM client c CROSS JOIN LATERAL (
                        SELECT count(*) AS held FROM assertion x
                        WHERE x.client_id = c.id AND x.ended_at IS NULL
                    ) a
                    WHERE c.id = ANY (ARRAY(\(held))) AND c.lifecycle = 'background'
                ),
                target AS MATERIALIZED (SELECT * FROM state WHERE lifecycle IS NOT NULL),
                warned AS (
                    UPDATE assertion a SET is_expiring = true FROM state s
                    WHERE s.lifecycle IS NULL AND s.assertions_end_at
                            - \(Assertion.notice.milliseconds) * interval '1 ms' <= now()
                        AND a.client_id = s.id AND a.ended_at IS NULL AND NOT a.is_expiring
                    RETURNING a.client_id, a.id, a.name, s.assertions_end_at
                ),
                \(ClientStore.moveTargets),
                happening AS (
                    SELECT * FROM move_event
                    UNION ALL
                    SELECT client_id, row_number() OVER (ORDER BY id), 'assertion.expiring', id,
                        \(AssertionStore.details(id: "id", name: "name", end: "assertions_end_at"))
                    FROM warned
                ),
                \(EventRuns.recordClientEvents)
                SELECT id FROM moved
                """,
            ] + ClientStore.setTimers(of: "c.id = ANY (ARRAY(\(held)))")
        )
        return rows[0].affectedCount
    }
}
