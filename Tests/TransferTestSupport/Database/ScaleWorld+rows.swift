import Postgres
import TransferModel

/// The rows, one statement for each table or kind.
extension ScaleWorld {
    var statements: [Query] {
        sessionRows + taskRows + placeRows + endRows + eventRows + feedRows + countRows
            + deliveryRows + otherRows + backgroundTaskRows
    }

    var count: Int64 { Int64(tasks) }
    var part: Int64 { Int64(generation) }
    var width: Int64 { Int64(sessions) }
    /// The number of the first task of `large`, and of the first task of the other sessions.
    var firstOfLarge: Int64 { part + count }
    private var firstOfOthers: Int64 { part + 2 * count }
    var tenantID: Query { "\(tenant.uuid)" }

    private var sessionRows: [Query] {
        [
            """
            INSERT INTO session (
                id, tenant_id, identifier, timeout_for_request_ms, timeout_for_resource_ms,
                additional_headers)
            SELECT \(sessionID("j")), \(tenantID),
                CASE j WHEN 0 THEN 'large' WHEN 1 THEN 'kept' ELSE 's' || j END, 60000, 604800000,
                '[]'
            FROM generate_series(0, \(width) - 1) AS j
            """,
            """
            INSERT INTO session_progress (
                session_id, generation, outstanding, completed, failed, cancelled, last_sequence,
                is_pending_told)
            SELECT \(sessionID("j")), CASE j WHEN 1 THEN \(Int64(Self.generations)) ELSE 1 END,
                CASE j WHEN 0 THEN \(count) WHEN 1 THEN 0 ELSE 1 END,
                CASE j WHEN 1 THEN \(part) * 7 / 10 ELSE 0 END,
                CASE j WHEN 1 THEN \(part) * 2 / 10 ELSE 0 END,
                CASE j WHEN 1 THEN \(part) / 10 ELSE 0 END,
                CASE j WHEN 0 THEN \(count)
                    WHEN 1 THEN \(Int64(Self.generations)) * (2 * \(part) + 1) ELSE 1 END,
                j = 0
            FROM generate_series(0, \(width) - 1) AS j
            """,
        ]
    }

    /// Tasks `n` of a session and a generation.
    private func tasks(
        _ numbers: ClosedRange<Int64>,
        of session: Query,
        generation: Query,
        hostKey: Query
    ) -> Query {
        """
        INSERT INTO task (
            id, session_id, tenant_id, generation, host_key, priority_rank, url, headers,
            client_string, created_at)
        SELECT \(taskID("n")), \(sessionID(session)), \(tenantID), \(generation), \(hostKey), 500,
            'https://origin.test/' || n, '[]', convert_to('string ' || n, 'UTF8'),
            to_timestamp((\(epoch) + n) / 1000.0)
        FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS n
        """
    }

    private var taskRows: [Query] {
        [
            tasks(
                part...(firstOfLarge - 1),
                of: "1",
                generation: "1 + n / \(part)",
                hostKey: "n % 50"
            ),
            tasks(
                firstOfLarge...(firstOfOthers - 1),
                of: "0",
                generation: "1",
                hostKey: "n % 50"
            ),
            tasks(
                (firstOfOthers + 2)...(firstOfOthers + width - 1),
                of: "n - \(firstOfOthers)",
                generation: "1",
                hostKey: "n - \(firstOfOthers)"
            ),
            """
            INSERT INTO expired_task (
                task_id, session_id, tenant_id, generation, finished_at, failure_code,
                client_string)
            SELECT \(taskID("n")), \(sessionID("1")), \(tenantID), 1, now() - interval '1 hour',
                CASE WHEN n % 10 IN (7, 8) THEN 'connection_lost' END,
                convert_to('string ' || n, 'UTF8')
            FROM generate_series(0, \(part) - 1) AS n
            """,
        ]
    }

    /// Returns a row for each task `k` of `large` that meets `condition`.
    private func ofLarge(_ columns: Query, where condition: Query) -> Query {
        """
        SELECT \(columns)
        FROM (
            SELECT k, k + \(firstOfLarge) AS n, \(taskID("k + \(firstOfLarge)")) AS id,
                \(sessionID("0")) AS session_id, (k + \(firstOfLarge)) % 50 AS host_key,
                CASE WHEN k % 100 = 69 AND k < \(Int64(Self.running)) * 100 THEN 'running'
                    WHEN k % 100 = 68 AND k < \(Int64(Self.renames)) * 100 THEN 'rename'
                    WHEN k % 100 < 70 THEN 'queued' WHEN k % 100 < 80 THEN 'suspended'
                    WHEN k % 100 < 84 THEN 'scheduled' WHEN k % 100 < 88 THEN 'retry'
                    WHEN k % 100 < 92 THEN 'offline' WHEN k % 100 < 95 THEN 'begin'
                    ELSE 'authentication' END AS place
            FROM generate_series(0, \(count) - 1) AS k
        ) x
        WHERE \(condition)
        """
    }

    /// A time that has come for the first ten thousand tasks only.
    private static let time: Query = """
        now() + k * interval '1 ms' + CASE WHEN k < 10000 THEN interval '-1 hour'
            ELSE interval '1 day' END
        """

    /// A time in the current week, which has a partition.
    static let earlier: Query = """
        greatest(
            date_trunc('week', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC',
            now() - interval '1 hour')
        """

    static let failure: Query = """
        '{"code": "connection_lost", "message": "The connection broke."}'::jsonb
        """

    /// The fence of an attempt of task `n`.
    private var fence: Query { "(\(worker.incarnation)::bigint << 40) + 30000000000 + n" }

    private var placeRows: [Query] {
        [
            """
            INSERT INTO ready_run (
                host_key, session_id, priority_rank, last_task_id, attempt, task_ids)
            \(ofLarge("host_key, session_id, 500, id, 0, ARRAY[id]", where: "place = 'queued'"))
            UNION ALL
            SELECT j, \(sessionID("j")), 500, k.id, 0, ARRAY[k.id]
            FROM generate_series(2, \(width) - 1) AS j
            CROSS JOIN LATERAL (SELECT \(taskID("j + \(firstOfOthers)")) AS id) k
            """,
            "INSERT INTO held (task_id) \(ofLarge("id", where: "place = 'suspended'"))",
            """
            INSERT INTO delayed (
                task_id, due_at, attempt, failure, host_key, session_id, priority_rank, awaits_host,
                asks_to_begin)
            \(ofLarge("""
                id, \(Self.time), (place = 'retry')::int,
                CASE place WHEN 'scheduled' THEN NULL ELSE \(Self.failure) END, host_key, session_id,
                500, place = 'offline', place = 'scheduled' AND k % 2 = 0
                """, where: "place IN ('scheduled', 'retry', 'offline')"))
            """,
            """
            INSERT INTO asked (
                task_id, session_id, tenant_id, question, attempt, until, failure, origin,
                credential, attempted_at)
            \(ofLarge("""
                id, session_id, \(tenantID), place, 0, \(Self.time),
                \(Self.failure),
                CASE place WHEN 'authentication' THEN 'https://o' || k % 2 || '.test' END,
                CASE place WHEN 'authentication' THEN 'c' || (7 + k % 2) END,
                CASE place WHEN 'authentication' THEN now() - interval '1 hour' END
                """, where: "place IN ('begin', 'authentication')"))
            """,
            """
            INSERT INTO attempt (task_id, fence, worker, number, session_id, host_key)
            \(ofLarge("id, \(fence), \(worker.incarnation), 1, session_id, host_key",
                where: "place = 'running' AND k % 200 < 100"))
            """,
            """
            INSERT INTO attempt_run (
                first_fence, session_id, host_key, number, began_at, block, task_ids, gone)
            \(ofLarge("""
                \(fence), session_id, host_key, 1,
                \(Self.time), set_byte(uuid_send(id), 15, get_byte(uuid_send(id), 15) & 128),
                ARRAY[id], ~(0::bit(128)) >> 1
                """, where: "place = 'running' AND k % 200 >= 100"))
            """,
            """
            INSERT INTO rename_run (
                first_fence, session_id, block, number, started_at, task_ids, part_fences,
                http_statuses, bytes_received, response_heads, inodes, inodes_born_at_ns, gone)
            \(ofLarge("""
                \(fence), session_id,
                set_byte(uuid_send(id), 15, get_byte(uuid_send(id), 15) & 128), 1, \(Self.time),
                ARRAY[id], ARRAY[\(fence)], '{200}', '{42}', '{""}', '{1}',
                '{1}', ~(0::bit(32)) >> 1
                """, where: "place = 'rename'"))
            """,
            """
            INSERT INTO partial (
                task_id, part_fence, boot_id, bytes_durable, bytes_total, validator)
            \(ofLarge("""
                id, 20000000000 + n, '00000000-0000-4000-8000-000000000000', 10, 20, '"1"'
                """, where: "place = 'retry'"))
            """,
            """
            INSERT INTO attempt_log (
                task_id, fence, number, outcome, started_at, ended_at, bytes_received)
            \(ofLarge("""
                id, 20000000000 + n, 1, 'retried', \(Self.earlier),
                \(Self.earlier), 10
                """, where: "place = 'retry'"))
            """,
        ]
    }

    private var eventRows: [Query] {
        let columns: Query = """
            INSERT INTO event_run (
                session_id, last_sequence, first_sequence, kind, generation, occurred_at, task_ids,
                task_state, attempts, bytes_received, failures, summary)
            """
        return [
            """
            \(columns)
            \(ofLarge("""
                session_id, k + 1, k + 1, 'task.created', 1, \(Self.earlier), ARRAY[id],
                'queued'::task_state, NULL, NULL, NULL, NULL
                """, where: "true"))
            """,
            """
            \(columns)
            SELECT \(sessionID("j")), 1, 1, 'task.created', 1, \(Self.earlier),
                ARRAY[\(taskID("j + \(firstOfOthers)"))], 'queued', NULL, NULL, NULL, NULL
            FROM generate_series(2, \(width) - 1) AS j
            """,
            """
            \(columns)
            SELECT \(sessionID("1")), k.sequence, k.sequence, 'task.created', 1 + n / \(part),
                \(Self.earlier), ARRAY[\(taskID("n"))], 'queued', NULL, NULL, NULL, NULL
            FROM generate_series(0, \(firstOfLarge) - 1) AS n
            CROSS JOIN LATERAL (
                SELECT n / \(part) * (2 * \(part) + 1) + n % \(part) + 1 AS sequence) k
            """,
            """
            \(columns)
            SELECT \(sessionID("1")), k.sequence, k.sequence, 'task.' || s.state, 1 + n / \(part),
                \(Self.earlier), ARRAY[\(taskID("n"))], s.state, ARRAY[1], ARRAY[42],
                CASE s.state WHEN 'failed' THEN ARRAY[\(Self.failure)] END, NULL
            FROM generate_series(0, \(firstOfLarge) - 1) AS n
            CROSS JOIN LATERAL (
                SELECT n / \(part) * (2 * \(part) + 1) + n % \(part) + 1 + \(part) AS sequence) k
            CROSS JOIN LATERAL (SELECT \(Self.endState("n")) AS state) s
            """,
            """
            \(columns)
            SELECT \(sessionID("1")), g * (2 * \(part) + 1), g * (2 * \(part) + 1),
                'session.events_finished', g,
                \(Self.earlier), NULL, NULL, NULL, NULL, NULL, jsonb_build_object(
                    'completed', \(part) * 7 / 10, 'failed', \(part) * 2 / 10,
                    'cancelled', \(part) / 10)
            FROM generate_series(1, \(Int64(Self.generations))) AS g
            """,
        ]
    }

    private var countRows: [Query] {
        let place: Query = """
            SELECT session_id, state, bytes_received, bytes_sent FROM outcome
            UNION ALL SELECT session_id, 'running', 0, 0 FROM running_attempt
            UNION ALL SELECT session_id, 'running', 0, 0 FROM pending_rename
            UNION ALL SELECT session_id, 'queued', 0, 0 FROM ready_run, unnest(task_ids)
            UNION ALL SELECT \(sessionID("0")), 'suspended', 0, 0 FROM held
            UNION ALL SELECT session_id, CASE question WHEN 'begin'
                THEN 'waiting_to_begin'::task_state ELSE 'waiting_for_authentication' END, 0, 0
            FROM asked
            UNION ALL SELECT session_id, CASE
                WHEN awaits_host THEN 'waiting_for_connectivity'::task_state
                WHEN failure IS NOT NULL THEN 'waiting_for_retry' ELSE 'scheduled' END, 0, 0
            FROM delayed
            """
        return [
            """
            INSERT INTO session_task_count (session_id, state, tasks, bytes_received, bytes_sent)
            SELECT session_id, state, count(*), sum(bytes_received), sum(bytes_sent)
            FROM (\(place)) p GROUP BY session_id, state
            """,
            """
            INSERT INTO tenant_task_count (tenant_id, state, tasks, bytes_received, bytes_sent)
            SELECT \(tenantID), state, sum(tasks), sum(bytes_received), sum(bytes_sent)
            FROM session_task_count GROUP BY state
            """,
            """
            INSERT INTO task_count AS c (state, tasks)
            SELECT state, tasks FROM tenant_task_count WHERE tenant_id = \(tenantID)
            ON CONFLICT (state) DO UPDATE SET tasks = c.tasks + excluded.tasks
            """,
        ]
    }

    /// The owner of a tenth of `large`, and leases of other clients on most of `kept`, in no order.
    var ownerRows: [Query] {
        [
            """
            INSERT INTO task_owner (task_id, tenant_id, lease_token, client_id)
            SELECT \(taskID("n")), \(tenantID), \(uuid("\(epoch)", "'c000'", "n / 100")), (
                SELECT c.id FROM client c
                WHERE c.tenant_id = \(tenantID) AND c.identifier = 'default')
            FROM generate_series(\(firstOfLarge), \(firstOfLarge + count / 10 - 1)) AS n
            """,
            """
            INSERT INTO task_owner (task_id, tenant_id, lease_token, expires_at, client_id)
            SELECT \(taskID("n")), \(tenantID), \(uuid("\(epoch)", "'c100'", "n / 100")),
                now() + interval '1 day', \(uuid("\(epoch)", "'c200'", "n / 1000"))
            FROM generate_series(\(2 * part), \(firstOfLarge - 1)) AS n
            ORDER BY md5(n::text)
            """,
        ]
    }

    private var otherRows: [Query] {
        [
            """
            INSERT INTO upload_resource (task_id, fence, dialect, url, is_at_origin, body)
            SELECT \(taskID("n")), n, 'ietf', '\\x01'::bytea, true, 'data'
            FROM generate_series(\(firstOfLarge), \(firstOfLarge + count / 10 - 1)) AS n
            """,
            """
            INSERT INTO test_failure (task_id, code)
            SELECT \(taskID("n")), 'timed_out'
            FROM generate_series(\(firstOfLarge), \(firstOfLarge + count / 10 - 1)) AS n
            """,
            """
            INSERT INTO task_mirror (task_id, rank, url_host_key, given_up, is_offline)
            SELECT \(taskID("n")), 1, 7, 0, false
            FROM generate_series(\(firstOfLarge), \(firstOfLarge + count / 10 - 1)) AS n
            """,
            """
            INSERT INTO assertion (id, client_id, name, began_at, ended_at)
            SELECT \(uuid("\(epoch)", "'d000'", "n")), c.id, 'a', now(), now()
            FROM generate_series(1, \(count)) AS n, client c
            WHERE c.tenant_id = \(tenantID) AND c.identifier = 'default'
            """,
            """
            INSERT INTO client_string_change (task_id, through_sequence, client_string)
            SELECT \(taskID("n + \(firstOfLarge)")), n + 1, convert_to('was ' || n, 'UTF8')
            FROM generate_series(0, \(count) / 10 - 1) AS n
            """,
            """
            INSERT INTO resume_data (
                id, tenant_id, part_fence, source_task_id, boot_id, bytes_durable, bytes_total,
                validator)
            SELECT \(uuid("\(epoch)", "'d000'", "n")), \(tenantID), 40000000000 + n,
                \(taskID("n * 10 + 9 + \(part)")), '00000000-0000-4000-8000-000000000000', 10, 20,
                '"1"'
            FROM generate_series(0, \(count) / 100 - 1) AS n
            """,
            """
            INSERT INTO abandoned_part (fence, task_id)
            SELECT 50000000000 + n, \(taskID("n + \(part)")) FROM generate_series(0, 99) AS n
            """,
            """
            INSERT INTO idempotency_key (tenant_id, key, request_sha256, status, body)
            SELECT \(tenantID), convert_to('key ' || n, 'UTF8'),
                decode(repeat('00', 32), 'hex'), 202, '{}'
            FROM generate_series(0, \(count) / 10 - 1) AS n
            """,
            """
            INSERT INTO host (host_key, name, connections)
            SELECT j, 'h' || j || '.test:443', 2 FROM generate_series(0, \(width) - 1) AS j
            """,
            """
            INSERT INTO host_tenant (tenant_id, host_key)
            -- As many as one tenant may keep.
            SELECT \(tenantID), j FROM generate_series(0, least(\(width), 500) - 1) AS j
            """,
            """
            INSERT INTO credential (id, tenant_id, name, kind, form, origins, secret)
            SELECT \(uuid("\(epoch)", "'e000'", "n")), \(tenantID), 'c' || n, 'bearer', '{}', '{}',
                '{"main": "a"}'
            FROM generate_series(0, 499) AS n
            """,
            """
            INSERT INTO session_credential (session_id, origin, credential_id)
            SELECT \(sessionID("n + 2")), 'https://origin.test',
                \(uuid("\(epoch)", "'e000'", "n"))
            FROM generate_series(0, 17) AS n
            """,
        ]
    }
}
