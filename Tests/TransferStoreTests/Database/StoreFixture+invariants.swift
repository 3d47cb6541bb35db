import Postgres
import Testing

extension StoreFixture {
    /// Checks the rules that hold for the database at any moment, whatever was done to it.
    func checkInvariants(_ location: SourceLocation = #_sourceLocation) async throws {
        for (rule, violations) in Self.invariants {
            let rows = try await aside.execute("SELECT count(*) AS count FROM (\(violations)) v")
            let count: Int64 = try rows[0].decode("count")
            #expect(count == 0, "\(rule)", sourceLocation: location)
        }
    }

    /// The changes of counts by moves that are not folded yet.
    private static let moved: Query = """
        SELECT tenant_id, session_id, from_state AS state, -tasks AS tasks,
            CASE WHEN from_state >= 'completed' THEN -bytes_received ELSE 0 END AS bytes_received,
            CASE WHEN from_state >= 'completed' THEN -bytes_sent ELSE 0 END AS bytes_sent
        FROM task_move WHERE from_state IS NOT NULL
        UNION ALL SELECT tenant_id, session_id, to_state, tasks,
            CASE WHEN to_state >= 'completed' THEN bytes_received ELSE 0 END,
            CASE WHEN to_state >= 'completed' THEN bytes_sent ELSE 0 END
        FROM task_move WHERE to_state IS NOT NULL
        """

    /// The place of each task.
    private static let place: Query = """
        SELECT session_id, state, bytes_received, bytes_sent FROM outcome
        UNION ALL SELECT session_id, 'running', 0, 0 FROM running_attempt
        UNION ALL SELECT session_id, 'running', 0, 0 FROM pending_rename
        UNION ALL SELECT session_id, 'queued', 0, 0 FROM ready_run, unnest(task_ids)
        UNION ALL SELECT t.session_id, 'suspended', 0, 0 FROM held h JOIN task t ON t.id = h.task_id
        UNION ALL SELECT session_id, CASE question WHEN 'begin' THEN 'waiting_to_begin'::task_state
            ELSE 'waiting_for_authentication' END, 0, 0 FROM asked
        UNION ALL SELECT session_id, CASE WHEN awaits_host THEN 'waiting_for_connectivity'::task_state
            WHEN failure IS NOT NULL THEN 'waiting_for_retry' ELSE 'scheduled' END, 0, 0 FROM delayed
        """

    /// The rules, each with a statement that finds its violations.
    static let invariants: [(rule: String, violations: Query)] = [
        (
            "what is kept of a task ends with it",
            """
            SELECT x.task_id FROM partial x LEFT JOIN task t ON t.id = x.task_id
            WHERE t.id IS NULL OR EXISTS (SELECT 1 FROM outcome o WHERE o.task_id = x.task_id)
            """
        ),
        (
            "whoever has taken a task over has one that is there",
            "SELECT w.task_id FROM task_owner w LEFT JOIN task t ON t.id = w.task_id WHERE t.id IS NULL"
        ),
        (
            "a place among mirrors is that of a task",
            "SELECT m.task_id FROM task_mirror m LEFT JOIN task t ON t.id = m.task_id WHERE t.id IS NULL"
        ),
        (
            "whoever waits for a host or is at one is at that of its task",
            """
            SELECT t.id FROM task t JOIN (
                SELECT unnest(task_ids) AS task_id, host_key FROM ready_run
                UNION ALL SELECT task_id, host_key FROM delayed
                UNION ALL SELECT task_id, host_key FROM running_attempt
            ) p ON p.task_id = t.id
            WHERE p.host_key <> t.host_key
            """
        ),
        (
            "a part file is kept, or given away, or to be removed, but only one of these",
            """
            SELECT fence FROM (
                SELECT part_fence AS fence FROM partial UNION ALL SELECT part_fence FROM resume_data
                UNION ALL SELECT fence FROM abandoned_part
            ) f GROUP BY fence HAVING count(*) > 1
            """
        ),
        (
            "each attempt of an ended task is told of",
            """
            SELECT o.task_id FROM outcome o
            WHERE o.attempt > (o.fence IS NOT NULL)::int + (
                SELECT count(*) FROM attempt_log l WHERE l.task_id = o.task_id)
            """
        ),
        (
            "each task has exactly one place",
            """
            SELECT t.id FROM task t LEFT JOIN (
                SELECT task_id FROM held UNION ALL SELECT task_id FROM delayed
                UNION ALL SELECT unnest(task_ids) FROM ready_run
                UNION ALL SELECT task_id FROM running_attempt
                UNION ALL SELECT task_id FROM pending_rename UNION ALL SELECT task_id FROM outcome
                UNION ALL SELECT task_id FROM asked
            ) p ON p.task_id = t.id
            GROUP BY t.id HAVING count(p.task_id) <> 1
            """
        ),
        (
            "runs of attempts have some left, in order, that only they have",
            """
            SELECT r.first_fence FROM attempt_run r
            CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (id, place)
            WHERE r.gone = ~(0::bit(128)) OR k.place > 1 AND k.id <= r.task_ids[k.place - 1]
                OR r.block <> set_byte(uuid_send(k.id), 15, get_byte(uuid_send(k.id), 15) & 128)
                OR r.gone << cardinality(r.task_ids)
                    <> ~(0::bit(128)) << cardinality(r.task_ids)
                OR EXISTS (
                    SELECT 1 FROM attempt_run x
                    WHERE x.first_fence > r.first_fence
                        AND x.first_fence < r.first_fence + cardinality(r.task_ids))
            """
        ),
        (
            "runs of renames have some left, in order, that only they have",
            """
            SELECT r.first_fence FROM rename_run r
            CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (id, place)
            WHERE r.gone = ~(0::bit(32)) OR k.place > 1 AND k.id <= r.task_ids[k.place - 1]
                OR r.block <> set_byte(uuid_send(k.id), 15, get_byte(uuid_send(k.id), 15) & 128)
                OR r.gone << cardinality(r.task_ids) <> ~(0::bit(32)) << cardinality(r.task_ids)
                OR EXISTS (
                    SELECT 1 FROM rename_run x
                    WHERE x.first_fence > r.first_fence
                        AND x.first_fence < r.first_fence + cardinality(r.task_ids))
            """
        ),
        (
            "renames in runs have left no part, so that an end need not look for one",
            """
            SELECT x.task_id FROM rename_run r CROSS JOIN LATERAL unnest(r.task_ids) AS k (id)
            JOIN partial x ON x.task_id = k.id
            WHERE cardinality(r.task_ids) > 1
            """
        ),
        (
            "attempts in runs have left no part, so that an end need not look for one",
            """
            SELECT x.task_id FROM attempt_run r
            CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (id, place)
            JOIN partial x ON x.task_id = k.id
            WHERE get_bit(r.gone, k.place::integer - 1) = 0
            """
        ),
        (
            "runs of runnable tasks have no gap, do not overlap and are at home",
            """
            SELECT r.last_task_id FROM ready_run r
            CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (id, place)
            JOIN task t ON t.id = k.id
            WHERE (t.host_key, t.session_id, t.priority_rank)
                    <> (r.host_key, r.session_id, r.priority_rank)
                OR k.place > 1 AND get_byte(uuid_send(k.id), 15)
                    <> get_byte(uuid_send(r.task_ids[k.place - 1]), 15) + 1
                OR left(k.id::text, 34) <> left(r.last_task_id::text, 34)
                OR get_byte(uuid_send(k.id), 15) / 128
                    <> get_byte(uuid_send(r.last_task_id), 15) / 128
                OR EXISTS (
                    SELECT 1 FROM ready_run x
                    WHERE x.session_id = r.session_id AND x.ctid <> r.ctid
                        AND x.last_task_id >= r.task_ids[1] AND x.task_ids[1] <= r.last_task_id)
            """
        ),
        (
            "events are numbered from 1 without gaps up to the counter",
            """
            SELECT p.session_id FROM session_progress p
            LEFT JOIN event e ON e.session_id = p.session_id
            GROUP BY p.session_id, p.last_sequence
            HAVING count(e.sequence) <> p.last_sequence
                OR coalesce(max(e.sequence), 0) <> p.last_sequence
            """
        ),
        (
            "the feed has events in the order of their session, and knows where there are more",
            """
            SELECT session_id FROM (
                SELECT session_id, first_sequence <> 1 + lag(
                    first_sequence + last_position - first_position, 1, 0::bigint)
                    OVER (PARTITION BY session_id ORDER BY last_position) AS is_wrong
                FROM event_feed
            ) x WHERE is_wrong
            UNION ALL
            SELECT p.session_id FROM session_progress p
            LEFT JOIN feed_session f USING (session_id)
            LEFT JOIN (
                SELECT session_id, sum(last_position - first_position + 1) AS events
                FROM event_feed GROUP BY session_id
            ) e USING (session_id)
            WHERE coalesce(e.events, 0) <> coalesce(f.last_sequence, 0)
                OR p.last_sequence < f.last_sequence
                OR p.last_sequence > coalesce(f.last_sequence, 0) AND NOT EXISTS (
                    SELECT 1 FROM task_move m WHERE m.session_id = p.session_id)
            """
        ),
        (
            "positions in a feed are numbered from 1 without gaps up to its end",
            """
            SELECT tenant_id FROM (
                SELECT tenant_id, first_position <> 1 + lag(last_position, 1, 0::bigint)
                    OVER (PARTITION BY tenant_id ORDER BY last_position) AS is_wrong
                FROM event_feed
            ) x WHERE is_wrong
            UNION ALL
            SELECT f.tenant_id FROM feed_tenant f LEFT JOIN event_feed x USING (tenant_id)
            GROUP BY f.tenant_id, f.last_position
            HAVING f.last_position IS DISTINCT FROM max(x.last_position)
            """
        ),
        (
            "each end of a task has exactly one event, and so has each retry of it",
            """
            SELECT t.id FROM task t
            LEFT JOIN outcome o ON o.task_id = t.id
            LEFT JOIN (
                SELECT task_id, task_state, kind = 'task.retried' AS is_retry,
                    lag(kind = 'task.retried', 1, true)
                        OVER (PARTITION BY task_id ORDER BY sequence) AS was_retry,
                    row_number() OVER (PARTITION BY task_id ORDER BY sequence DESC) AS from_last
                FROM event WHERE kind IN (
                    'task.completed', 'task.failed', 'task.cancelled', 'task.retried')
            ) e ON e.task_id = t.id
            GROUP BY t.id, o.state
            HAVING count(*) FILTER (WHERE e.is_retry = e.was_retry) > 0
                OR max(e.task_state) FILTER (WHERE e.from_last = 1 AND NOT e.is_retry)
                    IS DISTINCT FROM o.state
            """
        ),
        (
            "counters tell what the tables hold",
            """
            SELECT p.session_id FROM session_progress p
            LEFT JOIN (
                SELECT t.session_id, t.generation, coalesce(o.state::text, 'outstanding') AS state
                FROM task t LEFT JOIN outcome o ON o.task_id = t.id
                UNION ALL
                -- Of one that is kept no longer only the failure is known.
                SELECT session_id, generation,
                    CASE WHEN failure_code IS NULL THEN 'expired' ELSE 'failed' END
                FROM expired_task
            ) t ON t.session_id = p.session_id AND t.generation = p.generation
            GROUP BY p.session_id, p.outstanding, p.completed, p.failed, p.cancelled
            HAVING p.outstanding <> count(*) FILTER (WHERE t.state = 'outstanding')
                OR p.completed < count(*) FILTER (WHERE t.state = 'completed')
                OR p.failed <> count(*) FILTER (WHERE t.state = 'failed')
                OR p.cancelled < count(*) FILTER (WHERE t.state = 'cancelled')
                OR p.completed + p.cancelled
                    <> count(*) FILTER (WHERE t.state IN ('completed', 'cancelled', 'expired'))
            """
        ),
        (
            "how many tasks of a session are in which state is known",
            """
            SELECT session_id, state FROM (
                SELECT session_id, state, tasks, bytes_received, bytes_sent
                FROM session_task_count
                UNION ALL SELECT session_id, state, tasks, bytes_received, bytes_sent
                FROM (\(moved)) m
                UNION ALL SELECT session_id, state, -1, -bytes_received, -bytes_sent
                FROM (\(place)) p
            ) c
            GROUP BY session_id, state
            HAVING sum(tasks) <> 0 OR sum(bytes_received) <> 0 OR sum(bytes_sent) <> 0
            """
        ),
        (
            "how many tasks of a tenant are in which state is known",
            """
            SELECT tenant_id, state FROM (
                SELECT tenant_id, state, tasks, bytes_received, bytes_sent FROM tenant_task_count
                UNION ALL SELECT tenant_id, state, tasks, bytes_received, bytes_sent
                FROM (\(moved)) m
                UNION ALL SELECT s.tenant_id, p.state, -1, -p.bytes_received, -p.bytes_sent
                FROM (\(place)) p JOIN session s ON s.id = p.session_id
            ) c
            GROUP BY tenant_id, state
            HAVING sum(tasks) <> 0 OR sum(bytes_received) <> 0 OR sum(bytes_sent) <> 0
            """
        ),
        (
            "how many tasks are in which state is the sum of the tenants'",
            """
            SELECT state FROM (
                SELECT state, tasks FROM task_count
                UNION ALL SELECT state, -tasks FROM tenant_task_count
            ) c
            GROUP BY state HAVING sum(tasks) <> 0
            """
        ),
        (
            "a task is there or expired",
            "SELECT x.task_id FROM expired_task x JOIN task t ON t.id = x.task_id"
        ),
        (
            "whose part file is kept or to be removed is there",
            """
            SELECT x.fence FROM (
                SELECT fence, task_id FROM abandoned_part
                UNION ALL SELECT part_fence, source_task_id FROM resume_data
            ) x LEFT JOIN task t ON t.id = x.task_id
            WHERE t.id IS NULL
            """
        ),
        (
            "a generation without outstanding tasks has ended exactly once, others never",
            """
            SELECT g.session_id FROM (
                SELECT t.session_id, t.generation,
                    count(*) FILTER (WHERE o.task_id IS NULL) AS outstanding
                FROM task t LEFT JOIN outcome o ON o.task_id = t.id
                GROUP BY t.session_id, t.generation
            ) g LEFT JOIN event e ON e.session_id = g.session_id
                AND e.generation = g.generation AND e.kind = 'session.events_finished'
            GROUP BY g.session_id, g.generation, g.outstanding
            HAVING count(e.sequence) <> (g.outstanding = 0)::int
            """
        ),
        (
            "nothing of a generation's tasks happens after its end",
            """
            SELECT f.session_id FROM event f
            JOIN event e ON e.session_id = f.session_id AND e.generation = f.generation
                AND e.sequence > f.sequence AND e.task_id IS NOT NULL
            WHERE f.kind = 'session.events_finished'
            """
        ),
    ]
}
