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
        var changes: [AttemptChange] = []
        if !pendingRenames.isEmpty { changes.append(Self.pendingRename(of: pendingRenames)) }
        if let plain, !attemptEnds.isEmpty {
            changes.append(Self.plainEnd(of: attemptEnds, plain))
        } else if !attemptEnds.isEmpty {
            changes.append(try Self.attemptEnd(of: attemptEnds))
        }
        var changed = try await run(changes)
        let others = attemptEnds.filter { !changed.contains($0.task) }
        var unmoved = pendingRenames.filter { !changed.contains($0.task) }
        var again: [AttemptChange] = []
        if !unmoved.isEmpty { again.append(Self.pendingRename(of: unmoved, apart: true)) }
        if !others.isEmpty { again.append(try Self.attemptEnd(of: others)) }
        changed.formUnion(try await run(again, isAgain: true))
        unmoved.removeAll { changed.contains($0.task) }
        if !unmoved.isEmpty { changed.formUnion(try await pending(unmoved)) }
        return changed
    }

    /// Runs statements in one transaction.
    ///
    /// What they have not found is looked for `again`, task by task. It may be a part of a stretch that
    /// is not whole. Or its attempt got a row of its own while a statement waited for its run, and is
    /// in neither for that statement, which sees rows as they were when it began. So the second time
    /// the runs are locked by a statement before; an attempt never goes back into a run.
    ///
    /// For the same reason a statement that looks for parts is preceded by the locks of all attempts
    /// that it may end: a checkpoint that it would have waited for has stored its part by then.
    ///
    /// - Returns: the tasks whose attempts they changed.
    private func run(
        _ changes: [AttemptChange],
        isAgain: Bool = false
    ) async throws(StoreError) -> Set<TaskID> {
        guard !changes.isEmpty else { return [] }
        var queries = [database.briefLocks]
        let inRuns = changes.map(\.fences).filter { !$0.isEmpty }
        let looksForParts = changes.contains(where: \.looksForParts)
        // The first time one statement alone locks its runs itself.
        if inRuns.count > 1 || (isAgain || looksForParts) && !inRuns.isEmpty {
            let fences = inRuns.joined().map(\.rawValue).sorted()
            queries.append(AttemptRuns.runs.lock(FenceSpans(fences)))
            if looksForParts {
                queries.append(AttemptRuns.lockRows(of: changes.flatMap(\.tasks)))
            }
        }
        let first = queries.count
        // Every transaction locks rows of tasks first and the counters of sessions last.
        queries += changes.map(\.query) + changes.flatMap(\.last)
        let answers = try await database.run(queries)[first...]
        var changed = Set<TaskID>(minimumCapacity: changes.reduce(0) { $0 + $1.tasks.count })
        for (change, answer) in zip(changes, answers) {
            changed.formUnion(try change.changed(answer))
        }
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

    /// Returns the statement for new pending renames, each of which is looked for by itself if they are
    /// taken `apart`.
    private static func pendingRename(
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
    /// `from_run` has, out of these; they offer `from_row`, of stretches of one, and expect `given`.
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
