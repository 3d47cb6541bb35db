package import Foundation
import Postgres
package import TransferModel

/// The questions that tasks ask their clients, and the answers.
package struct QuestionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension QuestionStore {
    /// The number of tasks that one call fails, at most, because they got no answer.
    package static let unansweredMax = 1000

    /// Lets a task begin whose client was asked, as it was submitted or with another request.
    ///
    /// What earlier attempts have received or sent belongs to the URL of their request: with
    /// another one the task starts over. A task that must not be done twice does so too, because
    /// its client has asked for the other request, as with a retry.
    package func beginTask(
        tenant: TenantID,
        id: TaskID,
        with request: NewRequest?
    ) async throws(StoreError) -> AnswerResult {
        let url = try request.map { request throws(StoreError) in
            try database.sealer.seal(url: request.url, at: .url(of: id, of: tenant))
        }
        let headers = try request.map { request throws(StoreError) in
            try database.sealer.seal(headers: request.headers, at: .headers(of: id, of: tenant))
        }
        let rows = try await database.run([
            // Before the question, as by whoever else answers it.
            ControlStore.lockSession(of: id, tenant),
            """
            WITH gone AS (
                DELETE FROM asked q USING task t
                WHERE q.task_id = \(id.uuid) AND t.id = q.task_id
                    AND t.tenant_id = \(tenant.uuid) AND q.question = 'begin'
                RETURNING q.task_id, q.attempt
            ),
            -- Another request begins at its own URL.
            mirror_row AS (
                UPDATE task_mirror m SET rank = 0, url_host_key = \(request?.hostKey.rawValue),
                    given_up = 0, is_offline = true, rests_until = NULL
                WHERE \(request != nil) AND m.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
            ),
            -- The old origin gets no more, and the new file has no byte of the old one.
            resource_row AS (
                DELETE FROM upload_resource u
                WHERE \(request != nil) AND u.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
            ),
            \(Self.abandonParts(if: "\(request != nil)")),
            begun AS (
                UPDATE task t SET url = coalesce(\(url), t.url),
                    headers = coalesce(\(headers)::jsonb, t.headers),
                    host_key = coalesce(\(request?.hostKey.rawValue), t.host_key)
                FROM gone g WHERE t.id = ANY (ARRAY[g.task_id])
                RETURNING t.id AS task_id, t.session_id, t.host_key, t.priority_rank, g.attempt,
                    NULL::timestamptz AS began_at, 'waiting_to_begin'::task_state AS state
            ),
            \(Self.queueBegun(
                keepingPartsOf: "SELECT b.task_id FROM begun b WHERE \(request == nil)"))
            SELECT task_id FROM begun
            """,
        ])
        return try await result(rows[1], tenant, id)
    }

    /// Fails the tasks whose clients have not answered in time; those whose answer has not reached
    /// them yet continue.
    ///
    /// With a `latest`, a task whose time ends after that stays, however far ahead the database's
    /// clock is.
    ///
    /// - Returns: how many there were.
    package func failUnanswered(
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            SELECT task_id FROM asked WHERE until <= least(now(), \(latest))
            ORDER BY until LIMIT \(Self.unansweredMax)
            """
        )
        guard !rows.isEmpty else { return 0 }
        let late = try rows.map { row throws(StoreError) in try row.task("task_id").uuid }
        return try await database.run([
            // Before the questions, as by whoever answers one of them.
            """
            SELECT 1 FROM session_progress p
            WHERE p.session_id = ANY (ARRAY(
                SELECT q.session_id FROM asked q WHERE q.task_id = ANY (\(late))))
            ORDER BY p.session_id FOR UPDATE
            """,
            AnswerStore.continueAnswered(of: "SELECT unnest(\(late))"),
            """
            WITH target AS (
                SELECT task_id FROM asked
                WHERE task_id = ANY (\(late)) AND until <= least(now(), \(latest))
                FOR UPDATE SKIP LOCKED
            ),
            \(Self.failAsked)
            """,
        ]).dropFirst().reduce(0) { $0 + $1.count }
    }

    /// Returns the task after an answer that has moved `rows`.
    func result(
        _ rows: StoredRows,
        _ tenant: TenantID,
        _ id: TaskID
    ) async throws(StoreError) -> AnswerResult {
        guard let task = try await TaskStore(database).task(tenant: tenant, id: id) else {
            return .unknownTask
        }
        return rows.isEmpty ? .notAsked(task) : .answered(task)
    }

    /// Puts the tasks of `begun` (task_id, session_id, host_key, priority_rank, attempt, began_at,
    /// state) into the queue.
    static let queueAnswered = queueBegun(keepingPartsOf: "SELECT b.task_id FROM begun b")

    /// Puts the tasks of `begun` into the queue, where only `tasks` continue what earlier attempts
    /// have received.
    private static func queueBegun(keepingPartsOf tasks: Query) -> Query {
        """
        ready_row AS (\(ReadyRuns.insert(
            "SELECT host_key, session_id, priority_rank, task_id, attempt, began_at FROM begun"))),
        \(ControlStore.keptBytes(of: tasks)),
        happening AS (
            SELECT b.session_id, row_number() OVER (ORDER BY b.task_id) AS place,
                'task.resumed' AS kind, false AS ends, b.task_id, b.state AS from_state,
                'queued'::task_state AS task_state, b.attempt,
                coalesce(k.bytes_durable, 0) AS bytes_received, 0::bigint AS bytes_sent,
                NULL::jsonb AS failure
            FROM begun b LEFT JOIN kept_bytes k ON k.task_id = b.task_id
        ),
        \(EventRuns.recordHappenings),
        \(Fragment.wake)
        """
    }

    /// Has the part files of the tasks of `gone` removed, if `condition` holds; offers
    /// `from_partial`.
    private static func abandonParts(if condition: Query = "true") -> Query {
        """
        from_partial AS (
            DELETE FROM partial x
            WHERE (\(condition)) AND x.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
            RETURNING x.*
        ),
        abandoned_row AS (
            INSERT INTO abandoned_part (fence, task_id, source_task_id)
            SELECT part_fence, task_id, source_task_id FROM from_partial
            ON CONFLICT (fence) DO NOTHING
        )
        """
    }

    /// Fails the asked tasks of `target(task_id)` with the failure stored with their question.
    static let failAsked: Query = """
        gone AS (
            DELETE FROM asked q USING target x, task t
            WHERE q.task_id = ANY (ARRAY[x.task_id]) AND t.id = ANY (ARRAY[q.task_id])
            RETURNING q.task_id, q.session_id, t.generation, q.attempt, q.failure,
                \(CountStore.state(ofAsked: "q")) AS state
        ),
        \(abandonParts()),
        at_end AS MATERIALIZED (
            SELECT g.*, coalesce(x.bytes_durable, 0) AS bytes_received
            FROM gone g LEFT JOIN from_partial x ON x.task_id = g.task_id
        ),
        outcome_row AS (
            INSERT INTO outcome (
                task_id, session_id, generation, state, attempt, bytes_received, failure)
            SELECT task_id, session_id, generation, 'failed', attempt, bytes_received, failure
            FROM at_end
        ),
        happening AS (
            SELECT session_id, row_number() OVER (ORDER BY task_id) AS place,
                'task.failed' AS kind, true AS ends, task_id, state AS from_state,
                'failed'::task_state AS task_state, attempt, bytes_received,
                0::bigint AS bytes_sent, failure
            FROM at_end
        ),
        \(EventRuns.recordHappenings),
        \(Fragment.wake)
        SELECT task_id FROM gone
        """
}
