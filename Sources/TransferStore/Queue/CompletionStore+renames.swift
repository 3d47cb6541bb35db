import Foundation
import Postgres
package import TransferModel

extension CompletionStore {
    /// Returns those tasks whose pending rename of that fence exists already.
    func pending(
        _ pendingRenames: [PendingRename]
    ) async throws(StoreError) -> Set<TaskID> {
        let rows = try await database.run(
            """
            SELECT i.task_id
            FROM unnest(
                \(pendingRenames.map(\.task.uuid)), \(pendingRenames.map(\.fence.rawValue))
            ) AS i (task_id, fence) CROSS JOIN LATERAL (\(RenameRuns.selectItem)) r
            """
        )
        return Set(try rows.map { row throws(StoreError) in try row.task("task_id") })
    }

    /// Returns the sessions of tasks, and whether another transaction holds each at this moment;
    /// keeps no lock.
    package func sessions(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TaskSession] {
        let rows = try await database.run(
            """
            WITH item AS MATERIALIZED (
                SELECT id, session_id FROM task WHERE id = ANY (\(tasks.map(\.uuid)))
            ),
            free AS MATERIALIZED (
                SELECT p.session_id FROM session_progress p
                WHERE p.session_id = ANY (ARRAY(SELECT DISTINCT i.session_id FROM item i))
                FOR UPDATE SKIP LOCKED
            )
            SELECT i.id, i.session_id, i.session_id NOT IN (SELECT f.session_id FROM free f)
                AS is_held
            FROM item i
            """
        )
        var found: [TaskID: TaskSession] = [:]
        for row in rows {
            found[try row.task("id")] = TaskSession(
                id: try row.session("session_id"),
                isHeld: try row.decode("is_held")
            )
        }
        return found
    }

    /// Returns the statement for new pending renames, each of which is looked for by itself if they
    /// are taken `apart`.
    static func pendingRename(
        of pendingRenames: [PendingRename],
        apart: Bool = false
    ) -> AttemptChange {
        // Sorted by task, the order in which every statement locks, as in an end.
        let pendingRenames = pendingRenames.sorted { $0.task.uuid.precedes($1.task.uuid) }
        let tasks = pendingRenames.map(\.task.uuid)
        let fences = pendingRenames.map(\.fence.rawValue)
        let partFences = pendingRenames.map(\.partFence.rawValue)
        let results = pendingRenames.map(\.result)
        let files = pendingRenames.map(\.file)
        // Each stretch becomes a row, and ``FenceRuns/Groups`` of any of them are each in one.
        let spans = FenceSpans(fences, length: RenameRuns.runs.lengthMax, apart: apart)
        let query: Query = """
            -- What differs goes as it is from the arguments into the rows, in slices.
            WITH given AS MATERIALIZED (
                SELECT \(tasks) AS task_ids, \(fences) AS fences, \(partFences) AS part_fences,
                    \(results.map { Int16(clamping: $0.httpStatus) }) AS http_statuses,
                    \(results.map(\.bytesReceived)) AS bytes_received,
                    \(results.map(StoredResponseHead.text(of:))) AS response_heads,
                    \(files.map { $0?.inode }) AS inodes,
                    \(files.map { $0?.bornAtNanoseconds }) AS inodes_born_at_ns
            ),
            \(AttemptRuns.runs.take(
                spans,
                of: "SELECT task_ids FROM given",
                "r.number, r.session_id, r.started_at"
            )),
            \(fromRow(of: tasks.count)),
            moved AS MATERIALIZED (
                SELECT low, high, number, session_id, started_at, NULL::bigint AS resumed_at_offset
                FROM from_run
                UNION ALL
                SELECT low, high, number, session_id, started_at, resumed_at_offset FROM from_row
            ),
            stored AS (\(RenameRuns.insert))
            SELECT low, high FROM moved
            """
        return AttemptChange(
            tasks: pendingRenames.map(\.task),
            fences: pendingRenames.map(\.fence),
            query: query
        )
    }

    /// The CTEs that take the attempts with rows of their own, of `count` tasks and those that no
    /// `from_run` has, out of these; they offer `from_row`, of stretches of one, and expect
    /// `given`.
    private static func fromRow(of count: Int) -> Query {
        """
        from_row AS MATERIALIZED (
            SELECT i.place AS low, i.place AS high, a.task_id, a.number, a.session_id, a.started_at,
                a.resumed_at_offset
            FROM (
                SELECT i.task_id, i.fence, i.place::int AS place
                FROM unnest((SELECT task_ids FROM given), (SELECT fences FROM given))
                    WITH ORDINALITY AS i (task_id, fence, place)
            ) i CROSS JOIN LATERAL (\(lockAttempt)) a
            -- Mostly runs have all. No attempt is in both, so that the rest only spares looks.
            WHERE (SELECT coalesce(sum(high - low + 1), 0) FROM from_run) < \(Int64(count))
                AND NOT EXISTS (SELECT FROM from_run f WHERE i.place BETWEEN f.low AND f.high)
        ),
        attempt_gone AS (
            DELETE FROM attempt a WHERE a.task_id = ANY (ARRAY(SELECT e.task_id FROM from_row e))
        )
        """
    }
}
