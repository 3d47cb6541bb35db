import Postgres
package import TransferModel

extension TransferStore {
    /// Makes due what waits for hosts that have been reached again.
    package func release(lanes: [Lane]) async throws(StoreError) {
        _ = try await run(
            """
            UPDATE delayed SET due_at = now()
            WHERE awaits_host AND lane = ANY (\(lanes.map(\.key))) AND due_at > now()
            """
        )
    }

    /// Tasks promoted by one call at most.
    package static let promotionMax = 1000

    /// Makes runnable what has become due, never a moment early by the database's clock.
    ///
    /// - Returns: how many tasks were promoted, and how long until the next one is due.
    package func promoteDue() async throws(StoreError) -> (promoted: Int, next: Duration?) {
        let rows = try await run([
            """
            WITH due AS (
                SELECT ctid AS row FROM delayed WHERE due_at <= now()
                ORDER BY due_at LIMIT \(Self.promotionMax) FOR UPDATE SKIP LOCKED
            ),
            gone AS (
                DELETE FROM delayed d WHERE d.ctid = ANY (ARRAY(SELECT due.row FROM due))
                RETURNING d.task_id, d.lane, d.priority_rank, d.attempt, d.began_at
            )
            INSERT INTO ready (lane, priority_rank, task_id, attempt, began_at)
            SELECT lane, priority_rank, task_id, attempt, began_at FROM gone
            """,
            """
            SELECT ceil(extract(epoch FROM due_at - clock_timestamp()) * 1000)::bigint AS wait_ms
            FROM delayed ORDER BY due_at LIMIT 1
            """,
        ])
        return try decoding { () throws(PostgresError) in
            let wait = try rows[1].first.map { row throws(PostgresError) in
                try row.milliseconds("wait_ms")
            }
            return (promoted: rows[0].affectedCount, next: wait.map { max($0, .zero) })
        }
    }
}
