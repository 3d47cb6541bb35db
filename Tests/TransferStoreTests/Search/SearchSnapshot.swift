import Postgres
import TransferModel

/// The database's complete state of the one task of an ``ExhaustiveSearch``, and of its workers.
struct SearchSnapshot: Equatable {
    struct Line: Equatable {
        let table: String
        let fence: Fence?
        let partFence: Fence?
        let worker: Int32?
        /// The part that distinguishes two states.
        let detail: String
        /// The part that only grows and affects nothing.
        let history: String
    }

    let lines: [Line]

    static let query: Query = """
        SELECT * FROM (
            SELECT 1 AS place, 'ready' AS name, NULL::bigint AS fence, NULL::bigint AS part_fence,
                NULL::int AS worker, '' AS detail, attempt::text AS history
            FROM ready_run, unnest(task_ids)
            UNION ALL SELECT 2, 'delayed', NULL, NULL, NULL, '', attempt::text FROM delayed
            UNION ALL SELECT 3, 'held', NULL, NULL, NULL, '', attempt::text FROM held
            UNION ALL SELECT 4, 'attempt', fence, NULL, worker,
                concat_ws('/', bytes_received, resumed_at_offset), number::text
            FROM running_attempt
            UNION ALL SELECT 5, 'pending_rename', fence, part_fence, worker, '', number::text
            FROM pending_rename
            UNION ALL SELECT 6, 'partial', NULL, part_fence, NULL, bytes_durable::text, ''
            FROM partial
            UNION ALL SELECT 6, 'kept', NULL, part_fence, NULL, bytes_durable::text, ''
            FROM resume_data
            UNION ALL SELECT 7, 'abandoned', fence, NULL, NULL, '', '' FROM abandoned_part
            UNION ALL SELECT 8, 'revocation', fence, NULL, worker, '', '' FROM revocation
            UNION ALL SELECT 9, 'outcome', NULL, part_fence, NULL, state::text, attempt::text
            FROM outcome
            UNION ALL SELECT 10, 'worker', NULL, NULL, incarnation, '', '' FROM worker
            UNION ALL SELECT 11, 'progress', NULL, NULL, NULL,
                concat_ws('/', outstanding, completed, failed, cancelled), last_sequence::text
            FROM session_progress
            UNION ALL SELECT 12, 'log', NULL, NULL, NULL, '', count(*)::text FROM attempt_log
            -- What the invariants find out about the past is a part of what tells moments apart.
            UNION ALL SELECT 13, 'events', NULL, NULL, NULL, concat_ws('/',
                count(*) FILTER (WHERE kind IN (
                    'task.completed', 'task.failed', 'task.cancelled')),
                count(*) FILTER (WHERE kind = 'task.retried'),
                count(*) FILTER (WHERE kind = 'session.events_finished'),
                max(sequence) FILTER (WHERE kind = 'session.events_finished') = max(sequence),
                count(*) = max(sequence), count(DISTINCT sequence) = max(sequence)), ''
            FROM event
        ) x ORDER BY place, fence, part_fence, worker
        """

    init(_ rows: Rows) throws {
        lines = try rows.map { row in
            Line(
                table: try row.decode("name"),
                fence: try row.decodeIfPresent("fence", as: Int64.self).map(Fence.init(rawValue:)),
                partFence: try row.decodeIfPresent("part_fence", as: Int64.self)
                    .map(Fence.init(rawValue:)),
                worker: try row.decodeIfPresent("worker"),
                detail: try row.decode("detail"),
                history: try row.decode("history")
            )
        }
    }

    func lines(_ table: String) -> [Line] { lines.filter { $0.table == table } }

    func has(_ table: String) -> Bool { lines.contains { $0.table == table } }

    /// Returns whether an attempt or pending rename has that fence.
    func isCurrent(_ fence: Fence) -> Bool {
        lines.contains { ["attempt", "pending_rename"].contains($0.table) && $0.fence == fence }
    }

    /// Returns a key that is equal for two moments with the same possible futures.
    ///
    /// Fences and registrations are named in the order in which they are met, and the history is
    /// left out.
    func key(with world: SearchWorld) -> String {
        var fences: [Fence: Int] = [:]
        var incarnations: [Int32: Int] = [:]
        func name(_ fence: Fence?) -> Int {
            guard let fence else { return -1 }
            return fences[fence]
                ?? {
                    fences[fence] = fences.count
                    return fences.count - 1
                }()
        }
        func name(_ incarnation: Int32?) -> Int {
            guard let incarnation else { return -1 }
            return incarnations[incarnation]
                ?? {
                    incarnations[incarnation] = incarnations.count
                    return incarnations.count - 1
                }()
        }
        var words: [String] = []
        for worker in world.workers {
            words.append("\(name(worker.incarnation)) \(worker.isRunning)")
            for holding in worker.holdings {
                words.append(
                    "\(name(holding.fence)) \(name(holding.partFence)) \(holding.stage.rawValue) "
                        + "\(holding.isKept) \(holding.file != nil)"
                )
            }
        }
        for line in lines {
            words.append(
                "\(line.table) \(name(line.fence)) \(name(line.partFence)) \(name(line.worker)) "
                    + line.detail
            )
        }
        let parts = world.parts.sorted { $0.rawValue < $1.rawValue }.map { name($0) }
        words.append("\(parts) \(name(world.result)) \(world.allowance.key) \(world.hasBegun)")
        words.append("\(name(world.replaced)) \(world.isTaken) \(world.hasLostCommits)")
        return words.joined(separator: "\n")
    }
}
