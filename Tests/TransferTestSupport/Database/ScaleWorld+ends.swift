import Postgres
import TransferModel

/// The rows of the tasks that have ended.
extension ScaleWorld {
    var endRows: [Query] {
        [
            """
            INSERT INTO outcome (
                task_id, session_id, generation, state, attempt, bytes_received, http_status,
                response_head, failure, finished_at, part_fence, fence, started_at)
            SELECT \(taskID("n")), \(sessionID("1")), 1 + n / \(part), s.state, 1, 42,
                CASE s.state WHEN 'completed' THEN 200 END,
                CASE s.state WHEN 'completed' THEN 'content-type text/plain' || chr(10) END,
                CASE s.state WHEN 'failed' THEN \(Self.failure) END, now() - interval '1 hour',
                CASE s.state WHEN 'completed' THEN 10000000000 + n END, 10000000000 + n, \(Self.earlier)
            FROM generate_series(\(part), \(firstOfLarge) - 1) AS n
            CROSS JOIN LATERAL (SELECT \(Self.endState("n")) AS state) s
            """,
            """
            INSERT INTO retried_failure (session_id, generation, task_id, failure_code)
            SELECT \(sessionID("1")), 1 + n / \(part), \(taskID("n")), 'connection_lost'
            FROM generate_series(\(part), \(firstOfLarge) - 1, 10) AS n
            """,
            """
            INSERT INTO resume_data (
                id, tenant_id, part_fence, source_task_id, boot_id, bytes_durable, bytes_total,
                validator)
            SELECT \(taskID("n")), \(tenantID), 60000000000 + n, \(taskID("n")),
                '00000000-0000-4000-8000-000000000000', 10, 20, '"1"'
            FROM generate_series(\(part), \(firstOfLarge) - 1) AS n
            WHERE \(Self.endState("n")) = 'failed'
            """,
            // Copies of results behind the first page of those that expire.
            """
            INSERT INTO result_hold (task_id, source_task_id)
            SELECT \(taskID("n")), \(taskID("\(part) + 1000 + n % 1000"))
            FROM generate_series(\(firstOfLarge), \(firstOfLarge + count / 10 - 1)) AS n
            """,
        ]
    }

    static func endState(_ n: Query) -> Query {
        """
        CASE WHEN \(n) % 10 < 7 THEN 'completed'::task_state WHEN \(n) % 10 < 9 THEN 'failed'
            ELSE 'cancelled' END
        """
    }
}
