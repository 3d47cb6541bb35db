package import Foundation
import Postgres
package import TransferModel

extension RetentionStore {
    /// The number of sessions examined by one call.
    private static let expirySessionsMax = 500
    /// The number of tasks examined, or removed, by one call.
    package static let expiryTasksMax = 1000

    /// Examines a batch of sessions for those with tasks that were created long enough ago to
    /// expire, by reading one index row for each.
    ///
    /// No task is older than at `latest`, however far ahead the database's clock is; that is so
    /// wherever a removal of this store is given it.
    ///
    /// - Returns: those sessions, and the last session examined, nil when there is none after it;
    ///   nothing also when another instance is doing this.
    package func sessionsToExpire(
        after position: SessionID?,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> (sessions: [SessionID], position: SessionID?) {
        let rows = try await database.run(
            """
            WITH page AS MATERIALIZED (
                SELECT s.id, \(cutoff(latest)) AS cutoff FROM session s
                WHERE s.id > \(position?.uuid ?? UUID.zero) AND \(PartitionStore.isElected(for: .tasks))
                ORDER BY s.id LIMIT \(Self.expirySessionsMax)
            )
            SELECT p.id, coalesce((
                -- By a range of one index: with an equality, the key of all tasks may be read.
                SELECT t.id FROM task t
                WHERE (t.session_id, t.id) > (p.id, \(UUID.zero)) AND t.session_id <= p.id
                ORDER BY t.session_id, t.id LIMIT 1
            ) < \(Self.firstTask(createdAt: "p.cutoff")), false) AS is_due
            FROM page p ORDER BY p.id
            """
        )
        var due: [SessionID] = []
        var last: SessionID?
        for row in rows {
            last = try row.session("id")
            if try row.decode("is_due") { due.append(try row.session("id")) }
        }
        return (due, rows.count == Self.expirySessionsMax ? last : nil)
    }

    /// Examines a batch of a session's tasks for those that are no longer kept: they ended long
    /// ago, in a generation that has ended and that all subscribers were told about.
    ///
    /// Tasks that wait for their generation or a subscriber wait for `holdMax` at most, when their
    /// events are no longer kept either. So does one whose result is to be copied, from the
    /// submission of the copy on.
    ///
    /// - Returns: the tasks whose files are to be removed before ``expire(_:)``.
    package func tasksToExpire(
        of session: SessionID,
        after position: TaskID?,
        holdMax: Duration,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> ExpiringTasks {
        let rows = try await database.run(
            """
            WITH owner AS MATERIALIZED (
                SELECT s.id, \(cutoff(latest)) AS cutoff,
                    p.generation + (p.outstanding = 0)::int AS generation,
                    -- Up to where the slowest subscriber was told everything.
                    (SELECT min(d.acknowledged_sequence)
                        FROM (\(Fragment.selectSubscriptions("b.id"))) b
                        JOIN delivery d ON d.subscription_id = ANY (ARRAY[b.id])
                        WHERE d.session_id = s.id AND d.due_at IS NOT NULL) AS told
                FROM session s JOIN session_progress p ON p.session_id = s.id
                WHERE s.id = \(session.uuid)
            ),
            bound AS MATERIALIZED (
                SELECT o.cutoff, \(Self.firstTask(createdAt: "o.cutoff")) AS first,
                    least(o.generation, (
                        \(EventRuns.selectOldest("r.generation", of: "o.id", after: "o.told"))
                    )) AS generation
                FROM owner o
            ),
            page AS MATERIALIZED (
                SELECT t.id, t.tenant_id, t.upload_is_staged
                FROM (\(TaskListStore.selectTasks(
                    of: session,
                    after: position?.uuid ?? UUID.zero,
                    limit: Self.expiryTasksMax
                ))) x
                CROSS JOIN LATERAL (SELECT * FROM task WHERE id = x.id LIMIT 1) t
                WHERE x.id < (SELECT first FROM bound)
            ),
            due AS MATERIALIZED (
                SELECT p.*, o.part_fence, o.finished_at
                FROM page p JOIN outcome o ON o.task_id = ANY (ARRAY[p.id]) CROSS JOIN bound b
                WHERE o.finished_at < b.cutoff
                    AND (o.generation < b.generation
                        OR o.finished_at < least(now(), \(latest))
                            - \(holdMax.milliseconds) * interval '1 ms')
            ),
            -- What a failure left for a retry goes first; the task follows when its file is gone.
            given_up AS (
                DELETE FROM resume_data r WHERE r.id = ANY (ARRAY(SELECT d.id FROM due d))
                RETURNING r.part_fence, r.id, nullif(r.source_task_id, r.id) AS source_task_id
            ),
            abandoned_row AS (
                INSERT INTO abandoned_part (fence, task_id, source_task_id)
                SELECT part_fence, id, source_task_id FROM given_up ON CONFLICT (fence) DO NOTHING
            ),
            chosen AS (
                SELECT d.* FROM due d
                WHERE NOT \(ErasureStore.isNeeded("d.id"))
                    AND NOT EXISTS (SELECT 1 FROM given_up g WHERE g.id = d.id)
                    AND (\(Self.holdingCopy(of: "d.id", within: holdMax, latest))) IS NULL
            )
            SELECT c.id, c.tenant_id, c.upload_is_staged, c.part_fence, c.finished_at, x.looked_at,
                x.last
            FROM (SELECT count(*) AS looked_at,
                (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS last FROM page) x
            LEFT JOIN chosen c ON true
            ORDER BY c.id
            """
        )
        guard let first = rows.first else { return ExpiringTasks(remains: [], position: nil) }
        let isFull =
            try first.decode("looked_at", as: Int64.self) == Int64(Self.expiryTasksMax)
        let isEmpty = try first.decodeIfPresent("id", as: UUID.self) == nil
        return ExpiringTasks(
            remains: isEmpty
                ? [] : try rows.map { row throws(StoreError) in try TaskRemains(row) },
            position: isFull ? try first.task("last") : nil
        )
    }

    /// Returns the query for a copy of a task's result that has not ended, and was submitted within
    /// the time.
    private static func holdingCopy(
        of task: Query,
        within time: Duration,
        _ latest: Date?
    ) -> Query {
        """
        SELECT h.task_id FROM result_hold h
        WHERE h.source_task_id = \(task) AND h.task_id >= \(firstTask(
                createdAt: "least(now(), \(latest)) - \(time.milliseconds) * interval '1 ms'"))
            AND (SELECT e.task_id FROM outcome e WHERE e.task_id = h.task_id) IS NULL
        LIMIT 1
        """
    }

    /// Removes tasks whose files are gone, except for the data that events report of them.
    ///
    /// Each comes with the time of its end. One that was retried meanwhile stays with all that it
    /// has, also if it has ended again. No result of it is among the files that were removed: only
    /// failed and cancelled tasks are retried, and the name of a result has its attempt's fence.
    ///
    /// Their attempts are removed weekly, and are shown to nobody until then.
    package func expire(
        _ tasks: [(task: TaskID, finishedAt: Date?)]
    ) async throws(StoreError) {
        guard !tasks.isEmpty else { return }
        let ids = tasks.map(\.task.uuid)
        let companionsGone: [Query] = Self.companions.map { table in
            """
            DELETE FROM \(table) x WHERE x.task_id = ANY (\(ids))
                AND (SELECT t.id FROM task t WHERE t.id = x.task_id) IS NULL
            """
        }
        let ownersGone = SessionStore.removeOwners(
            of: """
                SELECT i.task_id FROM unnest(\(ids)) AS i (task_id)
                WHERE (SELECT t.id FROM task t WHERE t.id = i.task_id) IS NULL
                """
        )
        let tasksGone: Query = """
            WITH ended AS (
                DELETE FROM outcome o
                USING unnest(\(ids), \(tasks.map(\.finishedAt))) AS i (task_id, finished_at)
                -- The time is an array too: a plan might join by it.
                WHERE o.task_id = ANY (ARRAY[i.task_id])
                    AND o.finished_at = ANY (ARRAY[i.finished_at])
                RETURNING o.task_id, o.session_id, o.generation, o.finished_at, o.state,
                    o.bytes_received, o.bytes_sent,
                    CASE o.state WHEN 'failed' THEN o.failure->>'code' END AS failure_code
            ),
            move_row AS (\(CountStore.recordMoves(CountStore.forgotten("ended")))),
            gone AS (
                DELETE FROM task
                WHERE id = ANY (\(ids)) AND id = ANY (ARRAY(SELECT e.task_id FROM ended e))
                RETURNING id, session_id, tenant_id, client_string
            )
            INSERT INTO expired_task (
                task_id, session_id, tenant_id, generation, finished_at, failure_code,
                client_string)
            SELECT e.task_id, g.session_id, g.tenant_id, e.generation, e.finished_at,
                e.failure_code, g.client_string
            FROM ended e JOIN gone g ON g.id = e.task_id
            """
        _ = try await database.run([tasksGone, ownersGone] + companionsGone)
    }

    /// The tables with what belongs to a task, beside its owner, and goes when it is gone.
    private static let companions: [Query] = [
        "upload_resource", "task_mirror", "result_hold", "test_failure", "staged_body", "partial",
    ]

    /// Removes a batch of the remaining data of a session's expired tasks and retried failures that
    /// no event reports any more.
    ///
    /// - Returns: the session, unless it may have more; nil when there is none after it.
    package func pruneExpiredTasks(
        after position: SessionID?
    ) async throws(StoreError) -> Sweep<SessionID> {
        let place = position?.uuid ?? UUID.zero
        let rows = try await database.run(
            """
            WITH owner AS MATERIALIZED (
                SELECT least(
                    (SELECT x.session_id FROM expired_task x
                        WHERE x.session_id > \(place) ORDER BY x.session_id LIMIT 1),
                    (SELECT y.session_id FROM retried_failure y
                        WHERE y.session_id > \(place) ORDER BY y.session_id LIMIT 1)
                ) AS session_id
                WHERE \(PartitionStore.isElected(for: .expiredTasks))
            ),
            -- Numbers and generations rise together, so that the oldest event bounds the rest.
            oldest AS MATERIALIZED (
                \(EventRuns.selectOldest(
                    "r.generation, r.occurred_at",
                    of: "(SELECT o.session_id FROM owner o)"
                ))
            ),
            removed AS (
                DELETE FROM expired_task WHERE ctid = ANY (ARRAY(
                    SELECT x.ctid FROM expired_task x LEFT JOIN oldest d ON true
                    WHERE x.session_id = (SELECT o.session_id FROM owner o)
                        AND (d.generation IS NULL OR x.generation < d.generation
                            -- In one that goes on, its end will name only those that failed.
                            OR x.failure_code IS NULL
                                AND x.finished_at < d.occurred_at - interval '1 day')
                    LIMIT \(Self.expiryTasksMax)))
                RETURNING task_id
            ),
            forgotten AS (
                DELETE FROM retried_failure WHERE ctid = ANY (ARRAY(
                    SELECT y.ctid FROM retried_failure y
                    -- One range of its key, or all that is still reported would be read.
                    WHERE y.session_id = (SELECT o.session_id FROM owner o)
                        AND y.generation < coalesce(
                            (SELECT d.generation FROM oldest d), \(Int64.max))
                    LIMIT \(Self.expiryTasksMax)))
                RETURNING task_id
            ),
            string_row AS (
                DELETE FROM client_string_change c USING removed r
                WHERE c.task_id = ANY (ARRAY[r.task_id])
            )
            SELECT o.session_id,
                greatest((SELECT count(*) FROM removed), (SELECT count(*) FROM forgotten)) AS removed
            FROM owner o WHERE o.session_id IS NOT NULL
            """
        )
        guard let row = rows.first else { return Sweep(position: nil, removed: 0) }
        let removed = Int(try row.decode("removed", as: Int64.self))
        let session = try row.session("session_id")
        return Sweep(
            position: removed == Self.expiryTasksMax ? position ?? SessionID(.zero) : session,
            removed: removed
        )
    }

    /// Gives up a batch of resume data that was unused for as long as its task was kept; what
    /// failed tasks left for themselves goes with them.
    ///
    /// - Returns: the number given up; their files are then ``PartStore/abandonedParts(after:)``.
    package func expireResumeData(
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            WITH gone AS (
                DELETE FROM resume_data WHERE id = ANY (ARRAY(
                    SELECT r.id FROM resume_data r
                    JOIN task t ON t.id = ANY (ARRAY[r.source_task_id])
                    JOIN session s ON s.id = ANY (ARRAY[t.session_id])
                    WHERE r.created_at < \(cutoff(latest)) AND r.id <> r.source_task_id AND \(PartitionStore.isElected(for: .resumeData))
                    LIMIT \(Self.expiryTasksMax)))
                RETURNING part_fence, source_task_id
            )
            INSERT INTO abandoned_part (fence, task_id)
            SELECT part_fence, source_task_id FROM gone ON CONFLICT (fence) DO NOTHING
            """
        )
        return rows.affectedCount
    }

    /// Returns the time before which a task of a session `s` must have ended to be no longer kept.
    private func cutoff(_ latest: Date?) -> Query {
        """
        least(now(), \(latest)) - coalesce(s.result_retention_ms, \(database.settings.resultRetention.milliseconds))
            * interval '1 ms'
        """
    }

    /// Returns an identifier before that of any task created from that time on (RFC 9562, section
    /// 5.7).
    private static func firstTask(createdAt time: Query) -> Query {
        """
        (\(identifierTime(of: time)) || repeat('0', 20))::uuid
        """
    }

    /// Returns the hexadecimal digits that an identifier of version 7 begins with, as text.
    static func identifierTime(of time: Query) -> Query {
        "lpad(to_hex((extract(epoch FROM \(time)) * 1000)::bigint), 12, '0')"
    }
}
