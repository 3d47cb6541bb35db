import Foundation
import Postgres
package import TransferModel

/// The bytes that running attempts have received so far.
package struct PartStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

/// The part files of unfinished downloads.
extension PartStore {
    /// The number of abandoned parts that one call reads.
    package static let abandonedPartsMax = 500

    /// Keeps the part files of running attempts for the next attempts; stale fences change nothing.
    func recordCheckpoints(
        _ checkpoints: [(task: TaskID, fence: Fence, partial: PartialDownload)]
    ) async throws(StoreError) {
        guard !checkpoints.isEmpty else { return }
        // The lock on the attempt orders this before or after its end, and its takeover: no part is
        // kept for an attempt that has ended meanwhile.
        _ = try await database.run([
            Database.TransactionSetting.unsynced.query,
            AttemptRuns.separate(checkpoints.map(\.task), checkpoints.map(\.fence)),
            Database.TransactionSetting.plannedAnew.query,
            """
            WITH kept AS MATERIALIZED (
                SELECT a.task_id, \(StoredPart.columns(of: "i"))
                FROM unnest(
                    \(checkpoints.map(\.task.uuid)), \(checkpoints.map(\.fence.rawValue)),
                    \(StoredPart.arrays(of: checkpoints.map(\.partial)))
                ) AS i (task_id, fence, \(StoredPart.columns))
                JOIN attempt a ON a.task_id = i.task_id AND a.fence = i.fence
                ORDER BY a.task_id FOR KEY SHARE OF a
            ),
            abandoned_row AS (
                INSERT INTO abandoned_part (fence, task_id, source_task_id)
                \(Self.selectReplaced) ON CONFLICT (fence) DO NOTHING
            )
            \(Self.replacePartial)
            """,
        ])
    }

    /// The query for the files that those of `kept` replace.
    ///
    /// An attempt that could not resume a file, because another attempt still had it, has started
    /// over with a new one.
    static let selectReplaced: Query = """
        SELECT x.part_fence, x.task_id, x.source_task_id FROM kept k
        JOIN partial x ON x.task_id = ANY (ARRAY[k.task_id])
        WHERE x.part_fence <> k.part_fence
        """

    /// The statement that keeps the files of `kept`; a file already kept is updated only with more
    /// bytes.
    static let replacePartial: Query = """
        INSERT INTO partial (task_id, \(StoredPart.columns))
        SELECT task_id, \(StoredPart.columns) FROM kept
        ON CONFLICT (task_id) DO UPDATE SET
            part_fence = excluded.part_fence, source_task_id = NULL, ranges = excluded.ranges,
            boot_id = excluded.boot_id,
            bytes_durable = CASE WHEN partial.part_fence = excluded.part_fence
                THEN greatest(partial.bytes_durable, excluded.bytes_durable)
                ELSE excluded.bytes_durable END,
            bytes_total = excluded.bytes_total, validator = excluded.validator,
            coding = excluded.coding, may_be_of_another = excluded.may_be_of_another
        """

    /// Returns the CTEs that keep the part files which ends leave for another attempt or for the
    /// client's retry, and schedule the removal of those that nothing needs any more.
    ///
    /// Expects `gone`, the ends; `parts` have the places of theirs.
    static func keepParts(_ parts: [(place: Int64, part: PartialDownload)]) -> Query {
        """
        reported AS (
            SELECT g.task_id, g.tenant_id, g.outcome, \(StoredPart.columns(of: "k"))
            FROM unnest(
                \(parts.map(\.place)), \(StoredPart.arrays(of: parts.map(\.part)))
            ) AS k (place, \(StoredPart.columns))
            JOIN gone g USING (place)
            WHERE g.outcome IN (
                'retry', 'wait_for_connectivity', 'wait_out', 'ask_for_credential', 'released',
                'moved', 'failed')
        ),
        kept AS (SELECT * FROM reported WHERE outcome <> 'failed'),
        partial_row AS (\(replacePartial)),
        partial_gone AS (
            DELETE FROM partial x
            WHERE x.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
                AND (x.task_id IN (
                        SELECT g.task_id FROM gone g
                        WHERE g.outcome IN ('completed', 'fetched', 'answered', 'failed'))
                    OR x.part_fence IN (
                        SELECT g.abandoned FROM gone g WHERE g.abandoned IS NOT NULL))
            RETURNING x.*
        ),
        -- What a failed task leaves is kept under its own name, for the client's retry.
        left_over AS (
            SELECT r.task_id, r.tenant_id, r.task_id AS source_task_id,
                \(StoredPart.columns(of: "r"))
            FROM reported r WHERE r.outcome = 'failed'
            UNION ALL
            SELECT x.task_id, g.tenant_id, coalesce(x.source_task_id, x.task_id),
                \(StoredPart.columns(of: "x"))
            FROM partial_gone x JOIN gone g USING (task_id)
            WHERE g.outcome = 'failed' AND x.part_fence IS DISTINCT FROM g.abandoned
                AND x.part_fence IS DISTINCT FROM g.part_fence
                AND NOT EXISTS (SELECT 1 FROM reported r WHERE r.task_id = x.task_id)
        ),
        left_row AS (
            INSERT INTO resume_data (id, tenant_id, source_task_id, \(StoredPart.columns))
            SELECT task_id, tenant_id, source_task_id, \(StoredPart.columns) FROM left_over
        ),
        abandoned_row AS (
            INSERT INTO abandoned_part (fence, task_id, source_task_id)
            SELECT x.part_fence, x.task_id, x.source_task_id
            FROM partial_gone x JOIN gone g USING (task_id)
            WHERE x.part_fence IS DISTINCT FROM g.part_fence
                AND x.part_fence NOT IN (SELECT l.part_fence FROM left_over l)
            UNION ALL
            SELECT g.abandoned, g.task_id, NULL FROM gone g WHERE g.abandoned IS NOT NULL
            UNION ALL \(selectReplaced)
            ON CONFLICT (fence) DO NOTHING
        )
        """
    }

    /// Records that origins send only the rest of a file: `task.resumed_at_offset`, once for each
    /// attempt.
    ///
    /// - Returns: the tasks whose attempt had not recorded this before.
    package func recordResumptions(
        _ resumptions: [Resumption]
    ) async throws(StoreError) -> Set<TaskID> {
        guard !resumptions.isEmpty else { return [] }
        let tasks = resumptions.map(\.task.uuid)
        let rows = try await database.run([
            AttemptRuns.separate(resumptions.map(\.task), resumptions.map(\.fence)),
            // An update locks in the order of its plan, but whoever ends attempts in that of tasks.
            AttemptRuns.lockRows(of: resumptions.map(\.task)),
            Database.TransactionSetting.plannedAnew.query,
            """
            WITH told AS (
                UPDATE attempt a SET resumed_at_offset = i.resumed_at,
                    bytes_received = greatest(a.bytes_received, i.resumed_at)
                FROM unnest(
                    \(tasks), \(resumptions.map(\.fence.rawValue)),
                    \(resumptions.map(\.offset))
                ) AS i (task_id, fence, resumed_at)
                WHERE a.task_id = ANY (\(tasks)) AND a.task_id = i.task_id
                    AND a.fence = i.fence AND a.resumed_at_offset IS NULL
                RETURNING a.task_id, a.session_id, a.number, i.resumed_at
            ),
            happening AS (
                SELECT session_id, row_number() OVER (ORDER BY task_id) AS place,
                    'task.resumed_at_offset' AS kind, false AS ends, task_id,
                    NULL::task_state AS from_state, 'running'::task_state AS task_state,
                    number AS attempt, resumed_at AS bytes_received, 0::bigint AS bytes_sent,
                    NULL::jsonb AS failure
                FROM told
            ),
            \(EventRuns.recordHappenings),
            \(Fragment.wake)
            SELECT task_id FROM told
            """,
        ])[3]
        return Set(try rows.map { row throws(StoreError) in try row.task("task_id") })
    }

    /// Returns the part files of these tasks that an attempt may still resume or rename, or that
    /// are results.
    ///
    /// An end whose answer was lost has happened by the time its worker asks again.
    package func keptParts(
        _ parts: [(task: TaskID, fence: Fence)]
    ) async throws(StoreError) -> Set<Fence> {
        let fences = parts.map(\.fence.rawValue)
        let rows = try await database.run([
            // A checkpoint stored while its task was being cancelled did not exist yet when the end
            // removed the others.
            """
            DELETE FROM partial p USING outcome o
            WHERE p.part_fence = ANY (\(fences)) AND o.task_id = ANY (ARRAY[p.task_id])
            """,
            """
            SELECT part_fence FROM partial WHERE part_fence = ANY (\(fences))
            UNION SELECT part_fence FROM resume_data WHERE part_fence = ANY (\(fences))
            UNION SELECT part_fence FROM pending_rename WHERE part_fence = ANY (\(fences))
            UNION \(VerificationStore.selectResults(parts.map(\.task)))
            """,
        ])
        return Set(try rows[1].map { row throws(StoreError) in try row.fence("part_fence") })
    }

    /// Records how much of a part file, whose attempt was taken away, is durable, and which ranges.
    ///
    /// The attempt that resumes the file may have reported more ranges since; both are true.
    package func recordDurable(
        _ parts: [(partFence: Fence, bytes: Int64, ranges: ByteRangeSet?)]
    ) async throws(StoreError) {
        guard !parts.isEmpty else { return }
        let fences = parts.map(\.partFence.rawValue)
        let item: Query = """
            unnest(\(fences), \(parts.map(\.bytes)), \(parts.map(\.ranges?.text)))
                AS i (fence, bytes, ranges)
            """
        let news: Query = """
            bytes_durable = greatest(x.bytes_durable, i.bytes),
            ranges = coalesce(
                x.ranges + i.ranges::int8multirange, i.ranges::int8multirange, x.ranges)
            """
        _ = try await database.run([
            Database.TransactionSetting.plannedAnew.query,
            """
            UPDATE partial x SET \(news) FROM \(item)
            WHERE x.part_fence = ANY (\(fences)) AND x.part_fence = i.fence
            """,
            """
            UPDATE resume_data x SET \(news) FROM \(item)
            WHERE x.part_fence = ANY (\(fences)) AND x.part_fence = i.fence
            """,
        ])
    }

    /// Schedules the removal of part files that nothing needs and that cannot be removed now.
    package func recordAbandoned(
        _ parts: [(task: TaskID, fence: Fence)]
    ) async throws(StoreError) {
        guard !parts.isEmpty else { return }
        _ = try await database.run(
            """
            INSERT INTO abandoned_part (fence, task_id)
            SELECT i.fence, t.id
            FROM unnest(\(parts.map(\.fence.rawValue)), \(parts.map(\.task.uuid)))
                AS i (fence, task_id) JOIN task t ON t.id = i.task_id
            ON CONFLICT (fence) DO NOTHING
            """
        )
    }

    /// Returns the next part files that no attempt will resume, by fence after `position`.
    package func abandonedParts(
        after position: Fence? = nil
    ) async throws(StoreError) -> [AbandonedPart] {
        try await database.fetch(
            AbandonedPart.self,
            Self.selectAbandoned(where: "b.fence > \(position?.rawValue ?? .min)")
        )
    }

    /// Selects the first abandoned parts `b` that meet `condition`.
    static func selectAbandoned(where condition: Query) -> Query {
        """
        SELECT b.task_id, b.fence AS part_fence, b.source_task_id, t.tenant_id,
            t.destination_path, t.destination_overwrite,
            y.destination_path AS source_destination_path,
            y.destination_overwrite AS source_destination_overwrite
        FROM abandoned_part b JOIN task t ON t.id = ANY (ARRAY[b.task_id])
        LEFT JOIN task y ON y.id = ANY (ARRAY[b.source_task_id])
        WHERE \(condition)
        ORDER BY b.fence LIMIT \(abandonedPartsMax)
        """
    }

    /// Forgets abandoned parts whose files are gone.
    package func forgetAbandonedParts(_ fences: [Fence]) async throws(StoreError) {
        _ = try await database.run(
            "DELETE FROM abandoned_part WHERE fence = ANY (\(fences.map(\.rawValue)))"
        )
    }
}

extension AbandonedPart: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let fence = try row.fence("part_fence")
        self.init(
            tenant: try row.tenant("tenant_id"),
            task: try row.task("task_id"),
            destination: try row.destination(),
            fence: fence,
            sourcePath: try row.sourcePath(fence: fence)
        )
    }
}
