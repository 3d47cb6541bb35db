import Foundation
import Postgres
package import TransferModel

extension TransferStore {
    /// Moves attempts whose part file is whole and durable past the point of no return.
    ///
    /// - Returns: the tasks whose publication of that fence now exists, also when an earlier call
    ///   with an unknown outcome made it; the part files of all others are to be removed.
    package func publish(_ publications: [Publication]) async throws(StoreError) -> Set<TaskID> {
        let tasks = publications.map(\.task.uuid)
        let fences = publications.map(\.fence.rawValue)
        let results = publications.map(\.result)
        let rows = try await run([
            """
            WITH item AS (
                SELECT * FROM unnest(
                    \(tasks), \(fences), \(results.map { Int16(clamping: $0.httpStatus) }),
                    \(results.map(\.bytesReceived)), \(results.map(\.contentType)),
                    \(results.map(\.etag)), \(results.map(\.isLengthVerified))
                ) AS i (task_id, fence, http_status, bytes_received, content_type, etag,
                    is_length_verified)
            ),
            gone AS (
                -- The array besides the join makes this a look-up whatever the statistics say.
                DELETE FROM attempt a USING item i
                WHERE a.task_id = ANY (\(tasks))
                    AND a.task_id = i.task_id AND a.fence = i.fence
                RETURNING a.task_id, a.worker, a.number, a.session_id
            )
            INSERT INTO publication (
                task_id, fence, part_fence, worker, number, session_id, http_status,
                bytes_received, content_type, etag, is_length_verified)
            SELECT g.task_id, i.fence, i.fence, g.worker, g.number, g.session_id, i.http_status,
                i.bytes_received, i.content_type, i.etag, i.is_length_verified
            FROM gone g JOIN item i USING (task_id)
            """,
            """
            SELECT p.task_id FROM publication p
            JOIN unnest(\(tasks), \(fences)) AS i (task_id, fence) USING (task_id, fence)
            WHERE p.task_id = ANY (\(tasks))
            """,
        ])
        return try decoding { () throws(PostgresError) in
            Set(try rows[1].map { row throws(PostgresError) in try row.task("task_id") })
        }
    }

    /// Ends attempts and publications, writes their events and keeps the sessions' counters, in
    /// one statement for the whole batch.
    ///
    /// - Returns: the tasks that were concluded; the fence of every other was stale.
    package func conclude(_ conclusions: [Conclusion]) async throws(StoreError) -> Set<TaskID> {
        guard !conclusions.isEmpty else { return [] }
        let columns = try ConclusionColumns(conclusions)
        let rows = try await run(
            """
            WITH item AS (
                SELECT * FROM unnest(
                    \(columns.tasks), \(columns.fences), \(columns.verdicts),
                    \(columns.bytesReceived), \(columns.failures), \(columns.delays)
                ) WITH ORDINALITY AS i (
                    task_id, fence, verdict, bytes_received, failure, delay_ms, place)
            ),
            -- 1. Each row tells of its own end, matched by fence: a batch may hold a stale end of
            -- the same task. The array besides the join makes it a look-up whatever the
            -- statistics say.
            from_attempt AS (
                DELETE FROM attempt a USING item i
                WHERE a.task_id = ANY (\(columns.tasks))
                    AND a.task_id = i.task_id AND a.fence = i.fence AND i.verdict <> 'completed'
                RETURNING i.place, i.verdict, i.failure, i.delay_ms, a.task_id, a.number,
                    i.bytes_received
            ),
            from_publication AS (
                DELETE FROM publication p USING item i
                WHERE p.task_id = ANY (\(columns.tasks))
                    AND p.task_id = i.task_id AND p.fence = i.fence
                RETURNING i.place, i.verdict, i.failure, i.delay_ms, p.task_id, p.number,
                    p.bytes_received, p.http_status, p.content_type, p.etag, p.is_length_verified
            ),
            gone AS (
                SELECT e.place, e.verdict, e.failure::jsonb AS failure, e.delay_ms,
                    t.id AS task_id, t.session_id, t.generation, t.lane, t.priority_rank,
                    e.number AS attempt, e.bytes_received, e.http_status, e.content_type, e.etag,
                    e.is_length_verified
                FROM (
                    SELECT *, NULL::smallint AS http_status, NULL AS content_type, NULL AS etag,
                        NULL::boolean AS is_length_verified
                    FROM from_attempt
                    UNION ALL SELECT * FROM from_publication
                ) e
                JOIN task t ON t.id = e.task_id
            ),
            outcome_row AS (
                INSERT INTO outcome (
                    task_id, session_id, generation, state, attempt, bytes_received, http_status,
                    content_type, etag, is_length_verified, failure)
                SELECT task_id, session_id, generation, verdict::task_state, attempt,
                    bytes_received, http_status, content_type, etag,
                    CASE verdict WHEN 'completed' THEN is_length_verified END, failure
                FROM gone WHERE verdict IN ('completed', 'failed')
            ),
            delayed_row AS (
                INSERT INTO delayed (task_id, due_at, attempt, failure, lane, priority_rank)
                SELECT task_id, clock_timestamp() + delay_ms * interval '1 ms', attempt, failure,
                    lane, priority_rank
                FROM gone WHERE verdict = 'retry'
            ),
            ready_row AS (
                INSERT INTO ready (lane, priority_rank, task_id, attempt)
                SELECT lane, priority_rank, task_id, attempt - (verdict = 'released')::int
                FROM gone WHERE verdict IN ('released', 'requeued')
            ),
            happening AS (
                SELECT session_id, place * 2 + k.step AS place, k.kind,
                    k.ends, task_id, k.task_state, attempt, bytes_received, failure
                FROM gone JOIN (VALUES
                    ('completed', 0, 'task.download_finished', false, 'running'::task_state),
                    ('completed', 1, 'task.completed', true, 'completed'),
                    ('failed', 1, 'task.failed', true, 'failed'),
                    ('retry', 1, 'task.waiting', false, 'waiting_for_retry')
                ) AS k (verdict, step, kind, ends, task_state) USING (verdict)
            ),
            \(Self.recordHappenings),
            \(Self.wake)
            SELECT task_id FROM gone
            """
        )
        return try decoding { () throws(PostgresError) in
            Set(try rows.map { row throws(PostgresError) in try row.task("task_id") })
        }
    }

    /// Stores how far running attempts are; stale fences change nothing.
    package func recordProgress(
        _ progress: [(task: TaskID, fence: Fence, received: Int64, expected: Int64?)]
    ) async throws(StoreError) {
        // Nothing rests on it, and the next one comes within a second.
        _ = try await runUnsynced(
            """
            UPDATE attempt a SET bytes_received = i.received, bytes_expected = i.expected
            FROM unnest(
                \(progress.map(\.task.uuid)), \(progress.map(\.fence.rawValue)),
                \(progress.map(\.received)), \(progress.map(\.expected))
            ) AS i (task_id, fence, received, expected)
            WHERE a.task_id = ANY (\(progress.map(\.task.uuid)))
                AND a.task_id = i.task_id AND a.fence = i.fence
            """
        )
    }
}

private struct ConclusionColumns {
    var tasks: [UUID] = []
    var fences: [Int64] = []
    var verdicts: [String] = []
    var bytesReceived: [Int64] = []
    var failures: [String?] = []
    var delays: [Int64?] = []

    init(_ conclusions: [Conclusion]) throws(StoreError) {
        for conclusion in conclusions {
            tasks.append(conclusion.task.uuid)
            fences.append(conclusion.fence.rawValue)
            bytesReceived.append(conclusion.bytesReceived)
            switch conclusion.verdict {
            case .completed: try append("completed")
            case .failed(let failure): try append("failed", failure)
            case .retry(let failure, let delay): try append("retry", failure, delay)
            case .released: try append("released")
            case .requeued: try append("requeued")
            }
        }
    }

    private mutating func append(
        _ verdict: String,
        _ failure: TransferFailure? = nil,
        _ delay: Duration? = nil
    ) throws(StoreError) {
        verdicts.append(verdict)
        failures.append(
            try failure.map { failure throws(StoreError) in try StoredJSON.text(of: failure) }
        )
        delays.append(delay?.milliseconds)
    }
}
