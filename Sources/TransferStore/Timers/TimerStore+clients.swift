import Postgres
import TransferModel

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
                \(Fragment.recordClientEvents)
                SELECT id FROM moved
                """,
            ] + ClientStore.setTimers(of: "c.id = ANY (ARRAY(\(held)))")
        )
        return rows[0].affectedCount
    }
}
