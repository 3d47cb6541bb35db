import Postgres
import TransferModel

extension SubmissionStore {
    /// The behaviour of a submission whose session is held by another transaction.
    enum LockedSession {
        case wait
        /// The submission is left out, as if there were no such session.
        case skip

        fileprivate var clause: Query {
            switch self {
            case .wait: "FOR UPDATE OF p"
            case .skip: "FOR UPDATE OF p SKIP LOCKED"
            }
        }
    }

    /// Returns the statement that stores the tasks of `batches`, each in a session of its own; a
    /// refused batch is left out.
    ///
    /// Its row locks on the sessions' counters open new generations where sessions were drained,
    /// number the events and exclude an invalidation.
    func submission(
        of batches: [SessionBatch],
        whenLocked: LockedSession
    ) throws(StoreError) -> Query {
        let columns = try SubmissionColumns(batches, database.sealer)
        return """
            WITH batch AS MATERIALIZED (
                SELECT q.batch, q.count, s.id AS session_id, s.tenant_id, s.options,
                    s.kind = 'ephemeral' OR NOT q.has_data AS is_fit
                FROM unnest(
                    \(batches.map(\.session.tenant.uuid)), \(batches.map(\.session.client.name)),
                    \(batches.map(\.session.identifier)), \(columns.counts), \(columns.haveData)
                ) WITH ORDINALITY AS q (tenant_id, client, identifier, count, has_data, batch)
                CROSS JOIN LATERAL (
                    SELECT id, tenant_id, options, kind FROM session
                    WHERE tenant_id = q.tenant_id AND client = q.client
                        AND identifier = q.identifier COLLATE "C" AND invalidated_at IS NULL
                    LIMIT 1
                ) s
            ),
            \(database.submissionBounds(count: Int64(columns.ids.count))),
            \(Self.token(columns, batches)),
            -- Locked in the order of every statement, as by those that write events.
            locked AS MATERIALIZED (
                SELECT l.batch, l.count, l.tenant_id, p.session_id
                FROM (SELECT * FROM batch ORDER BY session_id) l
                CROSS JOIN LATERAL (
                    SELECT p.session_id FROM session_progress p
                    WHERE p.session_id = l.session_id AND NOT p.is_invalidated
                        AND NOT p.is_finishing AND NOT p.is_force_quit
                    LIMIT 1 \(whenLocked.clause)
                ) p
                WHERE l.is_fit AND NOT (SELECT is_full FROM queue)
                    AND l.tenant_id <> ALL (ARRAY(SELECT tenant_id FROM quota WHERE is_exceeded))
                    AND (SELECT is_there FROM token)
            ),
            -- Arrays, because the rows to update are then looked up by key whatever the planner
            -- assumes.
            chosen AS MATERIALIZED (
                SELECT array_agg(session_id) AS sessions, array_agg(tenant_id) AS tenants,
                    array_agg(count) AS counts, array_agg(batch) AS batches
                FROM locked
            ),
            counter AS (
                UPDATE session_progress p SET
                    generation = p.generation + (p.outstanding = 0)::int,
                    outstanding = p.outstanding + \(Self.ofChosen("counts")),
                    completed = CASE p.outstanding WHEN 0 THEN 0 ELSE p.completed END,
                    failed = CASE p.outstanding WHEN 0 THEN 0 ELSE p.failed END,
                    cancelled = CASE p.outstanding WHEN 0 THEN 0 ELSE p.cancelled END,
                    last_sequence = p.last_sequence + \(Self.ofChosen("counts"))
                WHERE p.session_id = ANY ((SELECT sessions FROM chosen)::uuid[])
                RETURNING p.session_id, p.generation,
                    p.last_sequence - \(Self.ofChosen("counts")) AS base,
                    \(Self.ofChosen("batches")) AS batch, \(Self.ofChosen("tenants")) AS tenant_id,
                    clock_timestamp() AS occurred_at
            ),
            -- Read by each statement that wants a part of it.
            given AS MATERIALIZED (
                SELECT \(columns.ids) AS ids, \(columns.hostKeys) AS host_keys,
                    \(columns.ranks) AS ranks, \(columns.earliestBeginAt) AS dates
            ),
            run AS MATERIALIZED (
                SELECT k.number, k.batch, k.place, k.first, k.count, CASE
                    WHEN k.state IS NOT NULL THEN k.state::task_state
                    WHEN (SELECT dates FROM given)[k.first] > now() THEN 'scheduled'::task_state
                    ELSE 'queued'::task_state END AS state
                FROM unnest(
                    \(columns.runs.map(\.batch)), \(columns.runs.map(\.place)),
                    \(columns.runs.map(\.first)), \(columns.runs.map(\.count)),
                    \(columns.runs.map { $0.state?.rawValue })
                ) WITH ORDINALITY AS k (batch, place, first, count, state, number)
            ),
            \(Self.insertTasks(columns)),
            \(Self.insertPlaces(columns)),
            event_row AS (
                INSERT INTO event_run (
                    session_id, last_sequence, first_sequence, kind, generation, occurred_at,
                    task_ids, task_state)
                SELECT c.session_id, c.base + r.place + r.count - 1, c.base + r.place,
                    'task.created', c.generation, c.occurred_at,
                    (SELECT ids FROM given)[r.first : r.first + r.count - 1], r.state
                FROM run r JOIN counter c USING (batch)
            ),
            move_row AS (
                INSERT INTO task_move (
                    tenant_id, session_id, from_state, to_state, tasks, bytes_received, bytes_sent)
                SELECT c.tenant_id, c.session_id, NULL::task_state, r.state, sum(r.count), 0, 0
                FROM run r JOIN counter c USING (batch)
                GROUP BY c.tenant_id, c.session_id, r.state
            ),
            \(Self.partial(columns)),
            \(Self.ownerRow(of: batches))
            \(Self.holdRow(of: batches, columns))
            \(Fragment.wake),
            \(Self.auditRow(of: batches))
            \(try IdempotencyStore(database).keepAnswers(batches))
            SELECT l.batch, c.generation, l.is_fit, (SELECT is_full FROM queue) AS is_full,
                \(columns.areAllQueued ? "true" : Self.isAnyQueued) AS is_any_runnable,
                EXISTS (SELECT 1 FROM wake) AS is_any_due,
                (SELECT q.maximum FROM quota q
                WHERE q.tenant_id = l.tenant_id AND q.is_exceeded) AS quota_max
            FROM batch l LEFT JOIN counter c USING (batch)
            """
    }

    /// Whether any task of the statement may be claimed at once; expects `run`.
    private static let isAnyQueued: Query = "EXISTS (SELECT 1 FROM run WHERE state = 'queued')"

    /// Returns the CTE that stores the audit entries of what is stored, if there are any.
    private static func auditRow(of batches: [SessionBatch]) -> Query {
        let entries = batches.enumerated().flatMap { index, batch in
            batch.requests.flatMap(\.audit).map { (batch: Int64(index + 1), entry: $0.entry) }
        }
        return entries.isEmpty ? "" : "audit_row AS (\(AuditStore.insertStored(entries))),"
    }

    /// Returns the CTE that gives tasks to those who submit them with a lease, if anybody does;
    /// expects `counter`.
    private static func ownerRow(of batches: [SessionBatch]) -> Query {
        let owned = batches.enumerated().flatMap { index, batch in
            batch.requests.flatMap { request in
                request.lease.map { lease in
                    request.submissions.map { (Int64(index + 1), $0.id.uuid, lease) }
                } ?? []
            }
        }
        guard !owned.isEmpty else { return "" }
        return """
            owner_row AS (
                INSERT INTO task_owner (
                    task_id, tenant_id, lease_token, owner, expires_at, client_id)
                SELECT o.task_id, c.tenant_id, o.lease_token, o.owner,
                    clock_timestamp() + o.seconds * interval '1 s', x.client_id
                FROM unnest(
                    \(owned.map(\.0)), \(owned.map(\.1)), \(owned.map(\.2.token.uuid)),
                    \(owned.map(\.2.owner)), \(owned.map(\.2.seconds))
                ) AS o (batch, task_id, lease_token, owner, seconds)
                JOIN counter c USING (batch)
                CROSS JOIN LATERAL (
                    SELECT k.id AS client_id FROM session s JOIN client k
                        ON k.tenant_id = s.tenant_id AND k.identifier = s.client
                    WHERE s.id = c.session_id LIMIT 1
                ) x
            ),
            """
    }

    /// Returns the CTE that keeps the results that tasks copy, if any do; expects `counter`.
    private static func holdRow(of batches: [SessionBatch], _ columns: SubmissionColumns) -> Query {
        guard columns.areCopies.contains(true) else { return "" }
        let copies = batches.enumerated().flatMap { index, batch in
            batch.submissions.compactMap { task in
                task.request.copiedTask.map { (Int64(index + 1), task.id.uuid, $0.uuid) }
            }
        }
        guard !copies.isEmpty else { return "" }
        return """
            hold_row AS (
                INSERT INTO result_hold (task_id, source_task_id)
                SELECT k.task_id, k.source_task_id
                FROM unnest(\(copies.map(\.0)), \(copies.map(\.1)), \(copies.map(\.2)))
                    AS k (batch, task_id, source_task_id)
                JOIN counter c USING (batch)
            ),
            """
    }

    /// Returns the join of items with the row of `counter` for their batch; without a condition
    /// where that is the only one, for else each of a thousand items may go into a hash table.
    private static func withCounter(_ columns: SubmissionColumns) -> Query {
        columns.batches.isEmpty ? "CROSS JOIN counter c" : "JOIN counter c USING (batch)"
    }

    /// Returns the CTE that stores what was asked for; expects `counter` and `given`.
    private static func insertTasks(_ columns: SubmissionColumns) -> Query {
        guard !columns.areDownloads else {
            return """
                task_row AS (
                    INSERT INTO task (
                        id, session_id, tenant_id, generation, host_key, priority_rank, url, headers,
                        client_string, destination_path, destination_overwrite, created_at)
                    SELECT i.id, c.session_id, c.tenant_id, c.generation, i.host_key,
                        i.priority_rank, i.url, i.headers::jsonb, i.client_string,
                        i.destination_path, i.destination_overwrite, now()
                    FROM given g CROSS JOIN unnest(
                        \(columns.batches), g.ids, g.host_keys, g.ranks, \(columns.urls),
                        \(columns.headers), \(columns.clientStrings), \(columns.paths),
                        \(columns.overwrites)
                    ) AS i (
                        batch, id, host_key, priority_rank, url, headers, client_string,
                        destination_path, destination_overwrite)
                    \(withCounter(columns))
                )
                """
        }
        return """
            task_row AS (
                INSERT INTO task (
                    id, session_id, tenant_id, generation, host_key, priority_rank, url, headers,
                    client_string, earliest_begin_at, destination_path, destination_overwrite,
                    options, kind, method, upload_path, upload_is_staged, upload_data,
                    upload_is_copy, created_at)
                SELECT i.id, c.session_id, c.tenant_id, c.generation, i.host_key, i.priority_rank,
                    i.url, i.headers::jsonb, i.client_string, i.earliest_begin_at,
                    i.destination_path, i.destination_overwrite, i.options::jsonb, i.kind, i.method,
                    i.upload_path, i.upload_is_staged, i.upload_data, i.upload_is_copy, now()
                FROM given g CROSS JOIN unnest(
                    \(columns.batches), g.ids, g.host_keys, g.ranks, \(columns.urls),
                    \(columns.headers), \(columns.clientStrings), g.dates, \(columns.paths),
                    \(columns.overwrites), \(columns.options), \(columns.kinds),
                    \(columns.methods), \(columns.uploadPaths), \(columns.areStaged),
                    \(columns.uploadData), \(columns.areCopies)
                ) AS i (
                    batch, id, host_key, priority_rank, url, headers, client_string,
                    earliest_begin_at, destination_path, destination_overwrite, options, kind,
                    method, upload_path, upload_is_staged, upload_data, upload_is_copy)
                \(withCounter(columns))
            )
            """
    }

    /// Returns the CTEs that put the tasks where their states are told; expects `batch`, `counter`,
    /// `given` and `run`.
    private static func insertPlaces(_ columns: SubmissionColumns) -> Query {
        guard !columns.areAllQueued else {
            return """
                ready_row AS (\(insertReady(columns)))
                """
        }
        return """
            item AS (
                SELECT c.session_id, s.options AS session_options, r.state, i.id, i.host_key,
                    i.priority_rank, i.earliest_begin_at, i.autostart, i.upload_is_staged, i.options
                FROM given g CROSS JOIN unnest(
                    \(columns.batches), g.ids, g.host_keys, g.ranks, g.dates, \(columns.autostart),
                    \(columns.areStaged), \(columns.options)
                ) WITH ORDINALITY AS i (
                    batch, id, host_key, priority_rank, earliest_begin_at, autostart,
                    upload_is_staged, options, place)
                \(withCounter(columns))
                JOIN batch s ON s.batch = c.batch
                JOIN (
                    SELECT k.place, r.state
                    FROM run r
                    CROSS JOIN LATERAL generate_series(r.first, r.first + r.count - 1) AS k (place)
                ) r USING (place)
            ),
            held_row AS (
                INSERT INTO held (task_id, awaits_body, autostart)
                SELECT i.id, i.upload_is_staged, i.autostart FROM item i
                WHERE i.state = 'suspended'
            ),
            delayed_row AS (
                INSERT INTO delayed (
                    task_id, due_at, attempt, host_key, session_id, priority_rank, asks_to_begin)
                SELECT i.id, i.earliest_begin_at, 0, i.host_key, i.session_id, i.priority_rank,
                    \(Fragment.asksToBegin(task: "i.options::jsonb", session: "i.session_options"))
                FROM item i WHERE i.state = 'scheduled'
            ),
            ready_row AS (
                \(insertReady(columns))
                JOIN run r ON r.number = k.run WHERE r.state = 'queued'
            )
            """
    }

    /// Returns the statement that puts tasks into the queue; expects `counter` and `given`.
    private static func insertReady(_ columns: SubmissionColumns) -> Query {
        let runs = columns.readyRuns
        return """
            INSERT INTO ready_run (
                host_key, session_id, priority_rank, last_task_id, attempt, task_ids)
            SELECT g.host_keys[k.first], c.session_id, g.ranks[k.first],
                g.ids[k.first + k.count - 1], 0, g.ids[k.first : k.first + k.count - 1]
            FROM given g CROSS JOIN unnest(
                \(runs.map(\.batch)), \(runs.map(\.run)), \(runs.map(\.first)), \(runs.map(\.count))
            ) AS k (batch, run, first, count)
            JOIN counter c USING (batch)
            """
    }

    /// Returns the element of an array of `chosen` that belongs to the row `p` of a session's
    /// counters.
    private static func ofChosen(_ array: Query) -> Query {
        """
        (SELECT \(array) FROM chosen)[
            array_position((SELECT sessions FROM chosen), p.session_id)]
        """
    }

    /// Returns the CTE `token(is_there)`: whether all resume data that the tasks name exists.
    private static func token(_ columns: SubmissionColumns, _ batches: [SessionBatch]) -> Query {
        guard !columns.resumeData.isEmpty else { return "token AS (SELECT true AS is_there)" }
        return """
            -- Locked, so that of two submissions with the same resume data one finds nothing.
            taken AS MATERIALIZED (
                SELECT id FROM resume_data
                WHERE id = ANY (\(columns.resumeData.map(\.id)))
                    AND tenant_id = ANY (\(batches.map(\.session.tenant.uuid)))
                FOR UPDATE
            ),
            token AS MATERIALIZED (
                SELECT count(*) = \(Int64(columns.resumeData.count)) AS is_there FROM taken
            )
            """
    }

    /// Returns the CTE that gives the resume data found by `token` to its tasks, once.
    private static func partial(_ columns: SubmissionColumns) -> Query {
        guard !columns.resumeData.isEmpty else { return "partial_row AS (SELECT 1)" }
        let ids = columns.resumeData.map(\.id)
        return """
            used AS (
                DELETE FROM resume_data r USING counter c
                WHERE r.id = ANY (\(ids)) AND r.tenant_id = c.tenant_id
                RETURNING r.*
            ),
            partial_row AS (
                INSERT INTO partial (task_id, source_task_id, \(StoredPart.columns))
                SELECT k.task_id, u.source_task_id, \(StoredPart.columns(of: "u"))
                FROM used u JOIN unnest(
                    \(ids), \(columns.resumeData.map(\.task))
                ) AS k (id, task_id) USING (id)
            )
            """
    }
}
