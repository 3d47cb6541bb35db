import Postgres
package import TransferModel

/// The queue of runnable tasks, and the tasks that become runnable.
package struct QueueStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension QueueStore {
    /// Gives runnable tasks to a worker, as new attempts with fences of its own: the first tasks of
    /// each flow, and no more of a tenant than its limits of running tasks and of bytes.
    ///
    /// They come in the order of their hosts, priorities and identifiers.
    ///
    /// The cost grows with the tasks claimed, not with the queue: `ready_run` holds only runnable
    /// tasks, its key is the order in which they are read, and rows of earlier claims that an old
    /// snapshot keeps are not read again. A run that has more tasks than the flow may begin loses
    /// its first ones.
    ///
    /// - Parameters:
    ///   - grants: the flows, where each continues, and how many of its tasks may begin.
    ///   - boundTenants: those with a limit; their running tasks are counted over all workers.
    ///   - fences: the worker, and the fences for its attempts.
    /// - Returns: the attempts that have begun.
    /// - Throws: ``StoreError`` when the database does not answer.
    package func claim(
        _ grants: [FlowGrant],
        boundTenants: [TenantID] = [],
        fences: WorkerIdentity.Reservation
    ) async throws(StoreError) -> [TaskClaim] {
        // A claim that is lost in a power cut leaves its tasks in the queue, and the fences given
        // out with it are refused later. A claim that has effects is flushed with the pending
        // rename that depends on it, or before a request that must not be sent twice.
        var queries = [Database.TransactionSetting.unsynced.query]
        if !boundTenants.isEmpty {
            // Claims run one after the other, so that each counts the tasks that the one before
            // began.
            queries.append(
                """
                SELECT FROM tenant WHERE id = ANY (\(boundTenants.map(\.uuid)))
                ORDER BY id FOR NO KEY UPDATE
                """
            )
        }
        // Before the tasks: a limit that is changed in between is then found to be newer.
        let distinct = Array(Set(grants.map(\.flow.session.uuid)))
        queries.append(Self.selectSessions(where: "s.id = ANY (\(distinct))"))
        let share = Self.share(of: grants, boundTenants)
        queries.append(Self.claim(of: share, under: fences))
        let rows = try await database.run(queries)
        let claimed = try ClaimedSession.byID(rows[queries.count - 2])
        var claims = try rows[queries.count - 1].map { row throws(StoreError) in
            try TaskClaim(row, of: claimed)
        }
        // Mostly they are in this order already; PostgreSQL would copy each row to sort them.
        claims.sort { one, other in
            let key = (one.hostKey.rawValue, one.priority.rank)
            let otherKey = (other.hostKey.rawValue, other.priority.rank)
            return key == otherKey ? one.task.uuid.precedes(other.task.uuid) : key < otherKey
        }
        return claims
    }

    /// Returns the CTEs that end with `share`, a row for each grant; those of bound tenants have no
    /// more tasks than the limits leave.
    private static func share(of grants: [FlowGrant], _ boundTenants: [TenantID]) -> Query {
        let hostKeys = grants.map(\.flow.hostKey.rawValue)
        let sessions = grants.map(\.flow.session.uuid)
        let counts = grants.map { Int64($0.count) }
        let ranks = grants.map(\.from.priority.rank)
        let tasks = grants.map(\.from.task.uuid)
        guard !boundTenants.isEmpty else {
            return """
                share AS (
                    SELECT * FROM unnest(
                        \(hostKeys), \(sessions), \(counts), \(ranks), \(tasks)
                    ) AS g (host_key, session_id, count, rank, task_id)
                )
                """
        }
        return """
            used AS MATERIALIZED (\(TenantStore.running)),
            -- Of tasks that have not begun nobody knows how many bytes they have.
            room AS (
                SELECT n.id, least(
                    n.running_tasks_max - coalesce(u.tasks, 0),
                    ceil((least(
                        n.in_flight_bytes_max,
                        CASE WHEN n.stored_bytes_max IS NOT NULL THEN n.stored_bytes_max
                            - (\(TenantStore.storedBytes(of: "n.id"))) END
                    ) - coalesce(u.bytes, 0)) / \(TenantStore.unknownBytes))::bigint
                ) AS free
                FROM tenant n LEFT JOIN used u ON u.tenant_id = n.id
                WHERE n.id = ANY (\(boundTenants.map(\.uuid)))
            ),
            share AS (
                SELECT g.host_key, g.session_id, g.rank, g.task_id, CASE WHEN r.free IS NULL THEN g.count
                    ELSE least(g.count, greatest(0, r.free - sum(g.count) OVER (
                        PARTITION BY r.id ORDER BY g.place) + g.count))::bigint END AS count
                FROM unnest(\(hostKeys), \(sessions), \(counts), \(ranks), \(tasks))
                    WITH ORDINALITY AS g (host_key, session_id, count, rank, task_id, place)
                JOIN session s ON s.id = ANY (ARRAY[g.session_id])
                LEFT JOIN room r ON r.id = s.tenant_id
            )
            """
    }

    /// Returns the statement that begins the tasks of `share` under those fences.
    private static func claim(
        of share: Query,
        under fences: WorkerIdentity.Reservation
    ) -> Query {
        """
        WITH \(share),
        -- 1. Materialized, because a plan that ran the locking query twice would lock more rows
        -- than its limit.
        picked AS MATERIALIZED (
            SELECT p.row, p.task_ids, p.taken
            FROM share g CROSS JOIN LATERAL (
                SELECT q.row, q.task_ids, least(cardinality(q.task_ids), g.count
                    + cardinality(q.task_ids) - sum(cardinality(q.task_ids)) OVER runs)::int
                    AS taken
                FROM (
                    SELECT r.ctid AS row, r.priority_rank, r.last_task_id, r.task_ids
                    FROM ready_run r WHERE \(Self.isOfFlow)
                    ORDER BY r.priority_rank, r.last_task_id
                    LIMIT \(Self.countOfRuns)
                    FOR UPDATE SKIP LOCKED
                ) q WINDOW \(Self.runsInOrder("q"))
            ) p
            WHERE p.taken > 0 AND \(CancellationStore.mayBegin(session: "g.session_id"))
                AND NOT \(PauseStore.isPaused(
                    tenant: "(SELECT x.tenant_id FROM session x WHERE x.id = g.session_id)",
                    host: "g.host_key"
                ))
        ),
        -- 2. A worker that was declared dead has no row here and gets nothing; the lock keeps a
        -- rescue from missing the attempts made below.
        alive AS MATERIALIZED (\(WorkerTransactions.standing(of: fences.incarnation))),
        -- 3. Addressed by the physical place of the rows just locked: the plan of a join by key
        -- would follow the statistics of the queue, which are mostly those of an empty one. A
        -- run that changed just before it was locked is not found, and only what is found counts.
        whole AS (
            DELETE FROM ready_run r USING alive
            WHERE r.ctid = ANY (ARRAY(
                SELECT p.row FROM picked p WHERE p.taken = cardinality(p.task_ids)))
            RETURNING r.session_id, r.host_key, r.last_task_id, r.attempt, r.began_at, r.task_ids
        ),
        head AS (
            UPDATE ready_run r SET task_ids = r.task_ids[p.taken + 1 :]
            FROM picked p, alive
            WHERE r.ctid = p.row AND p.taken < cardinality(p.task_ids)
            RETURNING r.session_id, r.host_key, r.last_task_id, r.attempt, r.began_at,
                p.task_ids[: p.taken] AS task_ids
        ),
        run AS MATERIALIZED (\(AttemptRuns.number("""
            SELECT session_id, host_key, attempt, began_at, last_task_id, task_ids FROM whole
            UNION ALL
            SELECT session_id, host_key, attempt, began_at, last_task_id, task_ids FROM head
            """, from: fences.first))),
        part AS MATERIALIZED (
            SELECT k.task_id, r.first_fence + k.place - 1 AS fence, r.number, r.session_id,
                r.host_key, r.began_at, \(Self.partialColumns)
            FROM run r
            CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (task_id, place)
            JOIN partial x ON x.task_id = ANY (ARRAY[k.task_id])
            WHERE r.has_parts
        ),
        begun AS (\(AttemptRuns.insert)),
        -- What continues a part file has received something already.
        continued AS (
            INSERT INTO attempt (
                task_id, fence, worker, number, session_id, host_key, began_at, bytes_received,
                bytes_expected)
            SELECT task_id, fence, \(fences.incarnation), number, session_id, host_key,
                began_at, bytes_durable, bytes_total
            FROM part
        ),
        move_row AS (\(CountStore.recordCounted("""
            SELECT session_id, 'queued'::task_state AS from_state,
                'running'::task_state AS to_state, sum(cardinality(task_ids)) AS tasks,
                0 AS bytes_received, 0 AS bytes_sent
            FROM run GROUP BY session_id
            """)))
        \(Self.selectTasksOfRuns)
        """
    }

    /// Whether a run `r` belongs to the flow of a share `g`, at its position or later.
    private static let isOfFlow: Query = """
        r.host_key = g.host_key AND r.session_id = g.session_id
            AND (r.priority_rank, r.last_task_id) >= (g.rank, g.task_id)
        """

    /// The number of runs that hold the tasks of a share `g`, or more if there are fewer tasks.
    ///
    /// It reads no further than those: the window ends with the first run that makes the sum.
    private static let countOfRuns: Query = """
        coalesce((
            SELECT y.runs FROM (
                SELECT row_number() OVER runs AS runs, sum(x.tasks) OVER runs AS tasks
                FROM (
                    SELECT r.priority_rank, r.last_task_id, cardinality(r.task_ids) AS tasks
                    FROM ready_run r WHERE \(isOfFlow)
                    ORDER BY r.priority_rank, r.last_task_id LIMIT g.count
                ) x WINDOW \(runsInOrder("x"))
            ) y WHERE y.tasks >= g.count LIMIT 1
        ), g.count)
        """

    private static func runsInOrder(_ run: Query) -> Query {
        "runs AS (ORDER BY \(run).priority_rank, \(run).last_task_id ROWS UNBOUNDED PRECEDING)"
    }

    /// Waits until the claims, whose commits do not wait for the disk, have reached it.
    ///
    /// A request that must not be sent twice is sent after this. It costs a flushed commit. The
    /// transaction that is flushed also looks for the claims: if the server has crashed since they
    /// were made, or another has taken its place, the flush by itself says nothing about them.
    ///
    /// - Parameter claims: those of one call of ``claim(_:boundTenants:fences:)``, or some of them.
    /// - Returns: the fences of those that the database has; nothing is to be sent for the others.
    /// - Throws: ``StoreError`` when the database does not answer.
    package func makeClaimsDurable(_ claims: [TaskClaim]) async throws(StoreError) -> Set<Fence> {
        let fences = claims.map(\.fence.rawValue)
        guard let first = fences.min(), let last = fences.max() else { return [] }
        let rows = try await database.run([
            // A commit waits for the disk only when its transaction has written to the log.
            "SELECT pg_logical_emit_message(true, 'transferd', ''::text)",
            """
            SELECT fence FROM running_attempt
            WHERE first_fence BETWEEN \(first - Int64(AttemptRuns.runs.lengthMax)) AND \(last)
                AND task_id = ANY (\(claims.map(\.task.uuid))) AND fence = ANY (\(fences))
            """,
        ])[1]
        return try Set(rows.map { row throws(StoreError) in try row.fence("fence") })
    }

    /// The query for the tasks of a claim, from `run` and `part`.
    ///
    /// A run's tasks lie together in the index, and their identifiers differ by one from each to
    /// the next: so one look-up finds all of them, and its last byte tells the place of each.
    private static let selectTasksOfRuns: Query = """
        SELECT \(columns(ofFence: "r.first_fence + p.place - 1", run: "r", part: "x"))
        FROM run r
        CROSS JOIN LATERAL (
            SELECT * FROM task t WHERE t.id BETWEEN r.task_ids[1] AND r.last_task_id
            LIMIT \(AttemptRuns.runs.lengthMax)
        ) t
        CROSS JOIN LATERAL (
            SELECT get_byte(uuid_send(t.id), 15) - r.first_byte + 1 AS place
        ) p
        -- Nothing is looked for where the run has none. A join would hash the tasks of each run,
        -- and give them in the order of their hashes.
        LEFT JOIN LATERAL (
            SELECT * FROM part y WHERE r.has_parts AND y.task_id = t.id LIMIT 1
        ) x ON true
        WHERE t.id = r.task_ids[p.place]
        """

    /// Returns the query for the tasks of `attempts`, whose rows also have ``partialColumns``.
    static func selectTasks(of attempts: Query, _ more: Query) -> Query {
        """
        SELECT \(columns(ofFence: "a.fence", run: "a", part: "a")) \(more)
        FROM \(attempts) a
        -- Look-ups by key whatever the statistics say (docs/decisions/0023).
        CROSS JOIN LATERAL (SELECT * FROM task t WHERE t.id = a.task_id LIMIT 1) t
        """
    }

    /// Returns the columns of an attempt at a task `t`.
    private static func columns(ofFence fence: Query, run: Query, part: Query) -> Query {
        """
        t.id AS task_id, \(fence) AS fence, \(run).number, \(run).session_id, t.host_key,
        t.priority_rank, t.url, t.headers, t.destination_path, t.destination_overwrite, t.options,
        t.kind, t.method, t.upload_path, t.upload_is_staged, t.upload_data, t.upload_is_copy,
        (date_part('epoch', clock_timestamp() - \(run).began_at) * 1000)::bigint AS elapsed_ms,
        \(part).partial_fence, \(part).source_task_id, \(part).ranges, \(part).boot_id,
        \(part).bytes_durable, \(part).bytes_total, \(part).validator, \(part).coding,
        \(part).may_be_of_another, \(ofSource("y.url", of: part)) AS source_url,
        \(ofSource("y.destination_path", of: part)) AS source_destination_path,
        \(ofSource("y.destination_overwrite", of: part)) AS source_destination_overwrite
        """
    }

    /// Returns the query for `column` of the task whose part file a `part` is.
    private static func ofSource(_ column: Query, of part: Query) -> Query {
        """
        CASE WHEN \(part).source_task_id IS NOT NULL THEN (
            SELECT \(column) FROM task y WHERE y.id = \(part).source_task_id) END
        """
    }

    /// The columns of an attempt for the part file `x` that it continues, NULL without one.
    static let partialColumns: Query = """
        x.part_fence AS partial_fence, x.source_task_id, x.ranges::text AS ranges, x.boot_id,
        x.bytes_durable, x.bytes_total, x.validator, x.coding, x.may_be_of_another
        """

    /// Returns the query for what the claimed tasks of a session `s` have in common, for those
    /// sessions for which `condition` is true.
    static func selectSessions(where condition: Query) -> Query {
        """
        SELECT s.id, s.tenant_id, s.client, s.identifier, s.kind, s.options, s.additional_headers,
            s.timeout_for_request_ms, s.timeout_for_resource_ms, s.max_connections_per_host,
            s.has_credentials, s.total_bytes_per_second_max AS session_rate_max,
            n.total_bytes_per_second_max AS tenant_rate_max, n.certificate_authorities,
            n.is_for_tests, (SELECT version FROM limit_change) AS limits_version
        FROM session s JOIN tenant n ON n.id = ANY (ARRAY[s.tenant_id])
        WHERE \(condition)
        """
    }
}
