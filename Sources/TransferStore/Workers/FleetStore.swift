import Postgres
import TransferModel

/// The figures and the vitals of the whole service, for those who watch it.
package struct FleetStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension FleetStore {
    /// The number up to which rows are counted.
    static let countMax: Int64 = 10_000

    /// Returns the figures, from counts that are kept and from the heads of indexes: its cost does
    /// not grow with the number of tasks.
    package func figures() async throws(StoreError) -> FleetFigures {
        let rows = try await database.run([
            """
            SELECT state, tasks FROM task_count
            """,
            """
            SELECT
                (SELECT count(*) FROM (
                    SELECT 1 FROM delivery WHERE due_at IS NOT NULL AND due_at <= now()
                    LIMIT \(Self.countMax)) d) AS due,
                (SELECT (extract(epoch FROM now() - d.due_at) * 1000)::bigint
                FROM (
                    SELECT due_at FROM delivery WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
                ) d WHERE d.due_at <= now()) AS lag_ms,
                (SELECT (extract(epoch FROM now() - min(t.due_at)) * 1000)::bigint
                FROM (VALUES ('client'), ('request'), ('run')) AS k (kind)
                CROSS JOIN LATERAL (
                    SELECT x.due_at FROM timer x WHERE x.kind = k.kind ORDER BY x.due_at LIMIT 1
                ) t WHERE t.due_at <= now()) AS timer_lag_ms,
                (SELECT count(*) FROM (
                    SELECT 1 FROM failure_streak LIMIT \(Self.countMax)) f) AS failing
            """,
        ])
        var tasks: [TransferState: Int64] = [:]
        for row in rows[0] { tasks[try row.word("state")] = max(0, try row.decode("tasks")) }
        guard let row = rows[1].first else { throw StoreError(decoding: "no figures") }
        return FleetFigures(
            tasks: tasks,
            deliveriesDue: try row.decode("due"),
            deliveryLag: .milliseconds(try row.decodeIfPresent("lag_ms", as: Int64.self) ?? 0),
            timerLag: .milliseconds(
                try row.decodeIfPresent("timer_lag_ms", as: Int64.self) ?? 0
            ),
            subscriptionsFailing: try row.decode("failing")
        )
    }
}
