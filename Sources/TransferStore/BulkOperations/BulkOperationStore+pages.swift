import Foundation
import Postgres
package import TransferModel

/// The carrying out of bulk operations, page by page, by whichever instance.
///
/// A page and the position behind it are one transaction, which holds the operation's row: after a
/// kill the next page is the one that was not committed, and no task is counted twice.
extension BulkOperationStore {
    /// The maximum number of tasks in one page.
    package static let pageMax = 1000
    /// The maximum number of operations found by one search.
    private static let runningMax = 100
    /// The number of tries of a page some of whose tasks keep moving between two tables.
    private static let triesMax = 20
    /// The factor by which a page becomes smaller that does not fit into the tenant's quota.
    private static let shrinkage = 10

    /// The result of a page.
    private struct Step {
        let state: BulkOperation.State
        let position: UUID
        /// Whether there was no room for the page.
        let isRefused: Bool
    }

    /// Carries out a page of each operation that has not ended, each the first of its session.
    ///
    /// One that is blocked by others is left for later, and does not delay the rest. Tenants take
    /// turns, as ``WaitingWork`` says.
    ///
    /// - Parameter page: carries out a page, and returns whether there may be another one.
    /// - Returns: the number of pages; there may be more unless it is zero.
    /// - Throws: why there were none.
    package func advanceBulkOperations(
        _ page: (RunningBulkOperation) async throws(StoreError) -> Bool
    ) async throws(StoreError) -> Int {
        try await WaitingWork.advance(
            inBatchesOf: Self.runningMax,
            nextTenant: { last throws(StoreError) in
                try await database.run(
                    WaitingWork.selectTenant(
                        of: "bulk_operation",
                        by: "id",
                        after: last,
                        where: "w.finished_at IS NULL"
                    )
                ).first?.tenant("tenant_id")
            },
            { (tenant: TenantID, last: RunningBulkOperation?) throws(StoreError) in
                try await runningBulkOperations(of: tenant, after: last?.id)
            },
            part: { operation throws(StoreError) in try await page(operation) ? 1 : 0 }
        )
    }

    /// Returns a tenant's operations that have not ended, each the first of its session, in order
    /// of their identifiers.
    package func runningBulkOperations(
        of tenant: TenantID,
        after position: BulkOperationID? = nil
    ) async throws(StoreError) -> [RunningBulkOperation] {
        try await database.fetch(
            RunningBulkOperation.self,
            """
            SELECT w.id, w.tenant_id, w.session_id, w.verb, w.states, w.looked_through
            FROM bulk_operation w
            WHERE w.finished_at IS NULL
                AND \(WaitingWork.isOwner(of: tenant, by: "id", after: position?.uuid))
                AND \(Self.isFirst("w"))
            ORDER BY w.tenant_id, w.id LIMIT \(Self.runningMax)
            """
        )
    }

    /// Returns the uploads in the next page of a retry whose bytes were brought by their client,
    /// and may be gone.
    package func stagedUploads(
        of operation: RunningBulkOperation
    ) async throws(StoreError) -> [TaskID] {
        guard operation.verb == .retry else { return [] }
        let rows = try await database.run(
            """
            WITH op AS (SELECT NULL AS reason),
            \(Self.look(of: operation, limit: Self.pageMax))
            SELECT t.id FROM look l CROSS JOIN LATERAL (
                SELECT t.id, t.upload_is_staged FROM task t WHERE t.id = l.id LIMIT 1) t
            WHERE t.upload_is_staged
            """
        )
        return try rows.map { row throws(StoreError) in try row.task("id") }
    }

    /// Carries out the next page of an operation, unless an earlier one of its session still runs
    /// or another instance is at it.
    ///
    /// - Parameters:
    ///   - operation: the operation, as far as it was when it was read.
    ///   - bodies: those of ``stagedUploads(of:)`` whose bytes are still there.
    /// - Returns: whether a page was carried out, so that there may be another one, of this
    ///   operation or of the next one of its session.
    /// - Throws: the error of the database; then nothing was changed.
    @discardableResult
    package func advanceBulkOperation(
        _ operation: RunningBulkOperation,
        bodies: [TaskID]
    ) async throws(StoreError) -> Bool {
        var limit = Self.pageMax
        for tries in 1...Self.triesMax {
            let step = try await page(
                of: operation,
                limit: limit,
                bodies: bodies,
                // What still moves now has been changed by others twenty times.
                isLastTry: tries == Self.triesMax
            )
            guard let step else { return false }
            if step.state != .running || step.position != operation.position { return true }
            if step.isRefused {
                if limit == 1 { return false }
                limit = max(1, limit / Self.shrinkage)
            }
        }
        return true
    }

    /// Carries out a page; nil when it is not this caller's turn.
    private func page(
        of operation: RunningBulkOperation,
        limit: Int,
        bodies: [TaskID],
        isLastTry: Bool
    ) async throws(StoreError) -> Step? {
        let rows = try await database.run([
            database.briefLocks,
            ReadyRuns.lock(of: "\(operation.session.uuid)::uuid"),
            """
            WITH \(Self.lock(operation)),
            \(Self.look(of: operation, limit: limit)),
            \(targets(of: operation, limit: limit, bodies: bodies)),
            \(Self.record(operation, limit: limit, isLastTry: isLastTry))
            """,
        ])
        guard let row = rows[2].first else { return nil }
        return Step(
            state: try row.word("state"),
            position: try row.decode("looked_through"),
            isRefused: try row.decode("is_refused")
        )
    }

    /// Whether no earlier operation of the session of `row` still runs.
    private static func isFirst(_ row: Query) -> Query {
        """
        NOT EXISTS (
            SELECT 1 FROM bulk_operation e
            -- Not a condition that the index of all running ones serves too.
            WHERE e.session_id = \(row).session_id AND e.id < \(row).id
                AND num_nulls(e.finished_at) = 1)
        """
    }

    /// Offers `op(id, created_at, reason)`, with the reason why it can no longer be carried out.
    private static func lock(_ operation: RunningBulkOperation) -> Query {
        """
        op AS MATERIALIZED (
            SELECT o.id, o.created_at, CASE
                WHEN p.session_id IS NULL OR p.is_invalidated
                    THEN \(BulkOperation.Reason.sessionEnded.rawValue)
                WHEN p.is_force_quit THEN \(BulkOperation.Reason.clientForceQuit.rawValue)
                WHEN p.is_finishing AND \(operation.verb == .retry)
                    THEN \(BulkOperation.Reason.sessionFinishing.rawValue)
                END AS reason
            FROM bulk_operation o
            LEFT JOIN session_progress p ON p.session_id = ANY (ARRAY[o.session_id])
            WHERE o.id = \(operation.id.uuid) AND o.looked_through = \(operation.position)
                AND num_nulls(o.finished_at) = 1 AND \(isFirst("o"))
            FOR NO KEY UPDATE OF o SKIP LOCKED
        )
        """
    }

    /// Offers the page `look(id)`: the session's ended tasks in the states of a retry, or else its
    /// tasks in any state.
    private static func look(of operation: RunningBulkOperation, limit: Int) -> Query {
        let tasks: Query
        if operation.verb == .retry {
            // Two states at most; one that is not named is that of no row.
            let states = BulkOperation.Verb.retry.states.map { state in
                operation.states.contains(state) ? state : nil
            }
            tasks = """
                SELECT x.id FROM (
                    (\(ended(of: operation, in: states.first ?? nil, limit: limit)))
                    UNION ALL
                    (\(ended(of: operation, in: states.last ?? nil, limit: limit)))
                ) x ORDER BY x.id LIMIT \(limit)
                """
        } else {
            tasks = TaskListStore.selectTasks(
                of: operation.session,
                after: operation.position,
                limit: limit
            )
        }
        return """
            look AS MATERIALIZED (
                SELECT t.id FROM op CROSS JOIN LATERAL (\(tasks)) t WHERE op.reason IS NULL
            )
            """
    }

    private static func ended(
        of operation: RunningBulkOperation,
        in state: TransferState?,
        limit: Int
    ) -> Query {
        TaskListStore.selectEnded(
            of: operation.session,
            in: state,
            after: operation.position,
            limit: limit
        )
    }

    /// Offers `target`, the tasks of the page that the verb concerns, and `gone(task_id)`, those
    /// that it has changed.
    private func targets(
        of operation: RunningBulkOperation,
        limit: Int,
        bodies: [TaskID]
    ) -> Query {
        switch operation.verb {
        case .retry:
            return """
                target AS MATERIALIZED (
                    SELECT t.* FROM op CROSS JOIN look l CROSS JOIN LATERAL (
                        SELECT \(RetryStore.columns)
                        FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
                        JOIN outcome o ON o.task_id = ANY (ARRAY[t.id])
                        WHERE t.id = l.id AND o.finished_at <= op.created_at
                            -- An attempt was made with all bytes of an upload.
                            AND (NOT t.upload_is_staged
                                OR t.id = ANY (\(bodies.map(\.uuid))) AND o.attempt > 0)
                        LIMIT 1
                    ) t
                ),
                \(RetryStore(database).targets(count: Int64(limit)))
                """
        case .cancel:
            return """
                \(Self.target(of: operation, if: "true")),
                \(ControlStore.cancelTargets(producing: nil))
                """
        case .suspend:
            return """
                \(Self.target(of: operation, if: "a.task_id IS NULL OR \(Fragment.isIdempotent)")),
                \(ControlStore.suspendTargets)
                """
        case .resume:
            return """
                \(Self.target(of: operation, if: "NOT h.awaits_body")),
                \(ControlStore.resumeTargets(if: "NOT h.awaits_body"))
                """
        }
    }

    /// Offers `target`: the outstanding tasks of the page that are in one of the states and meet
    /// `condition`, but not those with pending renames.
    private static func target(
        of operation: RunningBulkOperation,
        if condition: Query
    ) -> Query {
        """
        target AS MATERIALIZED (
            SELECT t.* FROM op CROSS JOIN look l CROSS JOIN LATERAL (
                SELECT t.id, t.tenant_id, t.session_id, t.generation, t.host_key, t.priority_rank,
                    t.earliest_begin_at, \(Fragment.isIdempotent) AS is_idempotent,
                    \(Fragment.asksToBegin(task: "t.options", session: "s.options"))
                        AS asks_to_begin
                FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
                \(TaskStore.joinPlaces)
                WHERE t.id = l.id AND t.created_at <= op.created_at AND p.task_id IS NULL
                    AND (\(TaskStore.stateOfPlaces)) = ANY (\(operation.states.map(\.rawValue)))
                    AND (\(condition))
                LIMIT 1
            ) t
        )
        """
    }

    /// Stores how far the operation is, and selects that.
    ///
    /// A page stays the next one if a task of it was found moving between two tables, or if there
    /// is no room for it.
    private static func record(
        _ operation: RunningBulkOperation,
        limit: Int,
        isLastTry: Bool
    ) -> Query {
        let refusal: Query =
            operation.verb == .retry
            ? """
            CASE WHEN NOT EXISTS (SELECT 1 FROM target) THEN NULL
                WHEN (SELECT is_full FROM queue) THEN \(BulkOperation.Reason.queueFull.rawValue)
                WHEN EXISTS (SELECT 1 FROM quota WHERE is_exceeded)
                    THEN \(BulkOperation.Reason.quotaExceeded.rawValue) END
            """ : "NULL::text"
        return """
            step AS (
                SELECT op.id, op.reason, x.refusal, x.changed,
                    CASE WHEN x.stays THEN NULL ELSE x.last END AS last,
                    op.reason IS NOT NULL OR NOT x.stays AND x.looked < \(limit) AS ends
                FROM op CROSS JOIN (
                    SELECT y.*, y.refusal IS NOT NULL
                        OR y.changed < y.targets AND NOT \(isLastTry) AS stays
                    FROM (
                        SELECT (SELECT count(*) FROM gone) AS changed,
                            (SELECT count(*) FROM target) AS targets,
                            (SELECT count(*) FROM look) AS looked,
                            (SELECT l.id FROM look l ORDER BY l.id DESC LIMIT 1) AS last,
                            \(refusal) AS refusal
                    ) y
                ) x
            )
            UPDATE bulk_operation o SET
                changed = o.changed + x.changed,
                looked_through = coalesce(x.last, o.looked_through),
                state = CASE WHEN x.reason IS NOT NULL THEN 'stopped' WHEN x.ends THEN 'completed'
                    ELSE 'running' END,
                reason = coalesce(x.reason, x.refusal),
                finished_at = CASE WHEN x.ends THEN clock_timestamp() END
            FROM step x WHERE o.id = ANY (ARRAY[x.id])
            RETURNING o.state, o.looked_through, x.refusal IS NOT NULL AS is_refused
            """
    }
}
