import Foundation
import Postgres
package import TransferModel

extension CompletionStore {
    /// Moves attempts whose part file is whole and durable past the point of no return, and ends
    /// attempts of other tasks, in one transaction.
    ///
    /// - Returns: the tasks whose pending rename of that fence now exists, also if an earlier call
    ///   with an unknown outcome made it, and the tasks that were ended. The caller must check the
    ///   part files of all others.
    package func beginRenames(
        _ pendingRenames: [PendingRename],
        ending attemptEnds: [AttemptEnd] = []
    ) async throws(StoreError) -> Set<TaskID> {
        let plain = try PlainEndColumns(attemptEnds)
        let ends =
            if let plain { [Self.plainEnd(of: plain)] } else {
                try Self.attemptEnd(of: attemptEnds)
            }
        // One statement alone locks its runs itself. Ends of renames have none to lock, ``endsInRun``:
        // such an attempt left its run for the rename.
        let endsInRuns =
            pendingRenames.isEmpty
            ? []
            : attemptEnds.compactMap { attemptEnd -> Fence? in
                if case .completed = attemptEnd.outcome { nil } else { attemptEnd.fence }
            }
        let runs =
            endsInRuns.isEmpty
            ? [] : [AttemptRuns.lock(pendingRenames.map(\.fence) + endsInRuns)]
        var changed = try await run(pendingRenames, attemptEnds.isEmpty ? [] : ends, after: runs)
        let others = attemptEnds.filter { !changed.contains($0.task) }
        if plain != nil, !others.isEmpty {
            changed.formUnion(try await run([], Self.attemptEnd(of: others), after: []))
        }
        let unmoved = pendingRenames.filter { !changed.contains($0.task) }
        if !unmoved.isEmpty { changed.formUnion(try await pending(unmoved)) }
        return changed
    }

    /// Runs both in one transaction; the first statement of `ends` returns the ended tasks.
    private func run(
        _ pendingRenames: [PendingRename],
        _ ends: [Query],
        after locks: [Query]
    ) async throws(StoreError) -> Set<TaskID> {
        // Every transaction locks rows of tasks first and the counters of sessions last.
        let renames = pendingRenames.isEmpty ? [] : [Self.pendingRename(of: pendingRenames)]
        let answering = renames + ends.prefix(1)
        guard !answering.isEmpty else { return [] }
        let first = [Database.TransactionSetting.briefLocks.query] + locks
        let rows = try await database.run(first + answering + ends.dropFirst())
        let answers = rows.dropFirst(first.count).prefix(answering.count)
        var changed = Set<TaskID>(minimumCapacity: answers.reduce(0) { $0 + $1.count })
        for row in answers.joined() { changed.insert(try row.task("task_id")) }
        return changed
    }

    /// Returns those tasks whose pending rename of that fence exists already.
    private func pending(
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

    private static func pendingRename(of pendingRenames: [PendingRename]) -> Query {
        // Sorted by task, the order in which every statement locks, as in an end.
        let pendingRenames = pendingRenames.sorted { $0.task.uuid < $1.task.uuid }
        let tasks = pendingRenames.map(\.task.uuid)
        let fences = pendingRenames.map(\.fence.rawValue)
        let partFences = pendingRenames.map(\.partFence.rawValue)
        let results = pendingRenames.map(\.result)
        let files = pendingRenames.map(\.file)
        let groups = FenceRuns.Groups(tasks, fences)
        return """
            -- What differs goes as it is from the arguments into the rows, in slices.
            WITH given AS MATERIALIZED (
                SELECT \(tasks) AS task_ids, \(fences) AS fences, \(partFences) AS part_fences,
                    \(results.map { Int16(clamping: $0.httpStatus) }) AS http_statuses,
                    \(results.map(\.bytesReceived)) AS bytes_received,
                    \(results.map(StoredResponseHead.text(of:))) AS response_heads,
                    \(files.map { $0?.inode }) AS inodes,
                    \(files.map { $0?.bornAtNanoseconds }) AS inodes_born_at_ns
            ),
            item AS (
                SELECT * FROM unnest(
                    (SELECT task_ids FROM given), (SELECT fences FROM given), \(groups.numbers)
                ) WITH ORDINALITY AS i (task_id, fence, run_group, row)
            ),
            \(AttemptRuns.runs.takeItems(in: groups)),
            from_row AS MATERIALIZED (
                SELECT i.task_id, i.fence, i.row, a.number, a.session_id, a.started_at,
                    a.resumed_at_offset, NULL::bigint AS first_fence
                FROM item i CROSS JOIN LATERAL (\(lockAttempt)) a
                WHERE i.task_id NOT IN (SELECT f.task_id FROM from_run f)
            ),
            attempt_gone AS (
                DELETE FROM attempt a WHERE a.task_id = ANY (ARRAY(SELECT e.task_id FROM from_row e))
            ),
            moved AS (
                SELECT task_id, fence, row, number, session_id, started_at,
                    NULL::bigint AS resumed_at_offset, first_fence
                FROM from_run
                UNION ALL SELECT * FROM from_row
            ),
            stored AS (\(RenameRuns.insert))
            SELECT task_id FROM moved
            """
    }
}
