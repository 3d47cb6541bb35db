import Postgres
package import TransferModel

/// The workers: their leases, their shares, their messages, and the takeover of their work.
package struct WorkerStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension WorkerStore {
    /// The number of fences reserved for one takeover; more attempts wait for the next.
    private static let takeoverMax = 10_000
    /// The number of ended attempts of a task that are examined to count deaths.
    package static let predecessorsMax = 10

    /// Registers a running instance, durably, before it may claim any task.
    ///
    /// An instance that `leasesShards` takes its share of the hosts, and so leaves less to others.
    ///
    /// `instanceLock` names a lock that only the caller holds: a worker already registered under it
    /// is dead, and is removed at once.
    package func registerWorker(
        name: String,
        leasesShards: Bool = false,
        instanceLock: String? = nil
    ) async throws(StoreError) -> Int32 {
        let rows = try await database.run(
            """
            WITH predecessor AS (
                DELETE FROM worker WHERE instance_lock = \(instanceLock)
            )
            INSERT INTO worker (name, leases_shards, instance_lock, schema_version)
            VALUES (\(name), \(leasesShards), \(instanceLock),
                \(Int32(clamping: database.settings.schemaVersion)))
            RETURNING incarnation
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no incarnation") }
        return try row.decode("incarnation")
    }

    /// Records that the worker is alive.
    ///
    /// After a gap of half a `lease`, or a jump of the database's clock, the worker counts as alive
    /// only from now on: no heartbeat was recorded in the gap, so the silence of other workers
    /// proves nothing.
    ///
    /// - Returns: false if the worker was declared dead; its attempts belong to others now.
    package func heartbeat(incarnation: Int32, lease: Duration) async throws(StoreError) -> Bool {
        // Lost only together with the database's uptime, and followed by another heartbeat.
        let rows = try await database.run(
            [.unsynced],
            """
            WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
            UPDATE worker w SET heartbeat_at = clock.now,
                -- A clock that was set back must not make the worker one that was never heard.
                started_at = least(w.started_at, clock.now - interval '1 ms'), alive_since = CASE
                WHEN w.heartbeat_at BETWEEN clock.now - \(Self.interval(lease / 2)) AND clock.now
                    THEN w.alive_since ELSE clock.now END
            FROM clock WHERE w.incarnation = \(incarnation)
            """
        )
        return rows.affectedCount == 1
    }

    static func interval(_ duration: Duration) -> Query {
        "\(duration.milliseconds) * interval '1 ms'"
    }

    /// Returns the query for the workers `v` that `incarnation` may declare dead.
    ///
    /// Its own heartbeats must have had no gap for a lease: then the database could be reached by
    /// all workers, and a living one had its heartbeat recorded too. A heartbeat ahead of the clock
    /// was recorded before the clock was set back, and counts as silent for that long.
    static func silentWorkers(for lease: Duration, heardBy incarnation: Int32) -> Query {
        """
        SELECT v.incarnation FROM worker v JOIN worker me ON me.incarnation = \(incarnation)
        WHERE v.incarnation <> me.incarnation
            AND me.alive_since <= clock_timestamp() - \(interval(lease))
            AND me.heartbeat_at
                BETWEEN clock_timestamp() - \(interval(lease / 2)) AND clock_timestamp()
            AND v.heartbeat_at NOT BETWEEN clock_timestamp() - \(interval(lease))
                AND clock_timestamp() + \(interval(lease))
        """
    }

    /// Removes the registration of a worker that has given back all its attempts and deliveries.
    package func retireWorker(incarnation: Int32) async throws(StoreError) {
        _ = try await database.run("DELETE FROM worker WHERE incarnation = \(incarnation)")
    }

    /// Takes the work of all workers that have been silent for `lease`, while the caller was not,
    /// and of those whose registration is gone.
    ///
    /// The attempts get new fences, so that a worker that was only suspended can end none of them;
    /// pending renames keep the name of their part file. Part files that no attempt will resume are
    /// left to ``PartStore/abandonedParts(after:)``. All times are the database's.
    package func takeOver(
        silentFor lease: Duration,
        identity: WorkerIdentity
    ) async throws(StoreError) -> Takeover {
        guard try await isAnyOrphaned(silentFor: lease, beside: identity.incarnation) else {
            return Takeover(
                workers: 0,
                attempts: [],
                deaths: [:],
                resumableUploads: [],
                pendingRenames: []
            )
        }
        try await WorkerTransactions(database: database)
            .end(ofWorkersSilentFor: lease, heardBy: identity.incarnation)
        let fences = identity.reserve(2 * Self.takeoverMax)
        let me = fences.incarnation
        let first = fences.first.rawValue
        let mine = Fence.all(of: me)
        // If the calling worker was itself declared dead, the work it takes over has no owner
        // again.
        let isRegistered: Query = "EXISTS (SELECT 1 FROM worker WHERE incarnation = \(me))"
        let rows = try await database.run([
            """
            DELETE FROM worker WHERE incarnation IN (
                \(Self.silentWorkers(for: lease, heardBy: me))
                ORDER BY v.incarnation FOR UPDATE OF v SKIP LOCKED)
            """,
            AttemptRuns.separateOrphans(count: Self.takeoverMax, if: isRegistered),
            Self.takeOrphans(for: me, if: isRegistered),
            """
            WITH orphan AS (
                SELECT task_id, fence, row_number() OVER (ORDER BY task_id) - 1 AS number
                FROM attempt
                WHERE worker = \(me)
                    AND fence NOT BETWEEN \(mine.lowerBound) AND \(mine.upperBound)
            ),
            a AS (
                UPDATE attempt x SET fence = \(first) + o.number
                FROM orphan o WHERE x.task_id = ANY (ARRAY[o.task_id]) AND x.fence = o.fence
                RETURNING x.task_id, x.fence, x.number, x.session_id, x.began_at,
                    x.bytes_received, o.fence AS part_fence
            ),
            taken AS (
                SELECT a.*, d.are_lost, d.bytes_reached, EXISTS (
                        SELECT 1 FROM upload_resource u WHERE u.task_id = a.task_id
                    ) AS has_upload_resource, \(QueueStore.partialColumns)
                FROM a CROSS JOIN LATERAL (\(Self.selectPredecessors)) d
                LEFT JOIN partial x ON x.task_id = ANY (ARRAY[a.task_id])
            ),
            abandoned_row AS (
                INSERT INTO abandoned_part (fence, task_id)
                SELECT a.part_fence, a.task_id FROM a WHERE NOT EXISTS (
                    SELECT 1 FROM partial x WHERE x.part_fence = a.part_fence)
                ON CONFLICT (fence) DO NOTHING
            )
            \(QueueStore.selectTasks(of: "taken", Self.takeoverColumns))
            """,
            QueueStore.selectSessions(
                where:
                    "s.id = ANY (ARRAY(SELECT a.session_id FROM attempt a WHERE a.worker = \(me)))"
            ),
            """
            WITH \(RenameRuns.takeOrphans(
                count: Self.takeoverMax,
                from: first + Int64(Self.takeoverMax),
                if: isRegistered
            ))
            \(Self.selectPendingRename) FROM taken p JOIN task t ON t.id = ANY (ARRAY[p.task_id])
            """,
            """
            UPDATE delivery SET due_at = now(), worker = NULL, fence = NULL
            -- Not one that was claimed meanwhile, by a worker that registered meanwhile.
            WHERE worker = ANY (ARRAY(
                SELECT DISTINCT x.worker FROM delivery x
                WHERE x.worker IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM worker w WHERE w.incarnation = x.worker)))
            """,
            Self.removal(
                ofRevocations: """
                    NOT EXISTS (SELECT 1 FROM worker w WHERE w.incarnation = revocation.worker)
                    """
            ),
        ])
        // A limit may have been changed since their tasks were read: they are read again soon.
        let claimed = try ClaimedSession.byID(rows[4], withLimitsToRead: true)
        return Takeover(
            workers: rows[0].affectedCount,
            attempts: try rows[3].map { row throws(StoreError) in
                try TaskClaim(row, of: claimed)
            },
            deaths: Dictionary(
                uniqueKeysWithValues: try rows[3].map { row throws(StoreError) in
                    (try row.task("task_id"), try DeathStreak(row))
                }
            ),
            resumableUploads: Set(
                try rows[3].map { row throws(StoreError) in
                    try row.decode("has_upload_resource") ? try row.task("task_id") : nil
                }.compactMap(\.self)
            ),
            pendingRenames: try rows[5].map { row throws(StoreError) in
                try PendingRename(row)
            }
        )
    }

    /// Returns the statement that gives `incarnation` the attempts of workers that are not
    /// registered, if `condition` is met; they keep their fences, by which the next one knows them.
    ///
    /// Its lock excludes that of whoever stores what a running attempt leaves, a part or the
    /// resource of an upload. So the next statement sees what was stored, and nothing is stored
    /// afterwards. The update alone would not wait for it, and would not see it.
    private static func takeOrphans(for incarnation: Int32, if condition: Query) -> Query {
        """
        WITH orphan AS MATERIALIZED (
            SELECT task_id, fence FROM attempt
            WHERE \(condition) AND NOT EXISTS (
                SELECT 1 FROM worker w WHERE w.incarnation = attempt.worker)
            ORDER BY task_id LIMIT \(takeoverMax)
        ),
        locked AS MATERIALIZED (
            SELECT a.task_id, a.fence FROM orphan o
            -- Not one that was begun meanwhile, by a worker that registered meanwhile.
            JOIN attempt a ON a.task_id = ANY (ARRAY[o.task_id]) AND a.fence = o.fence
            ORDER BY a.task_id FOR UPDATE OF a
        )
        UPDATE attempt x SET worker = \(incarnation)
        FROM locked l WHERE x.task_id = ANY (ARRAY[l.task_id]) AND x.fence = l.fence
        """
    }

    private static let takeoverColumns: Query = """
        , a.bytes_received, a.are_lost, a.bytes_reached, a.has_upload_resource
        """

    /// The columns for the ends of the attempts before an attempt `a`, the newest first.
    private static let selectPredecessors: Query = """
        SELECT coalesce(array_agg(l.outcome = 'lost' ORDER BY l.place), '{}') AS are_lost,
            coalesce(array_agg(l.bytes_reached ORDER BY l.place), '{}') AS bytes_reached
        FROM (
            SELECT outcome, bytes_received + coalesce(resumed_at_offset, 0) AS bytes_reached,
                row_number() OVER (ORDER BY started_at DESC, fence DESC) AS place
            FROM attempt_log WHERE task_id = a.task_id
            ORDER BY started_at DESC, fence DESC LIMIT \(Self.predecessorsMax)
        ) l
        """

    /// Returns whether a worker is dead, or a row belongs to a worker that was removed.
    ///
    /// Rows without an owner lie in the gaps between the registered incarnations. So the query
    /// reads no row of a living worker, and no row of its past that an old snapshot keeps.
    private func isAnyOrphaned(
        silentFor lease: Duration,
        beside incarnation: Int32
    ) async throws(StoreError) -> Bool {
        func isAny(of table: Query) -> Query {
            """
            EXISTS (
                SELECT 1 FROM gap g CROSS JOIN LATERAL (
                    SELECT x.worker FROM \(table) x WHERE x.worker > g.low AND x.worker < g.high
                    ORDER BY x.worker LIMIT 1) x)
            """
        }
        func isAnyRun(of table: Query) -> Query {
            """
            EXISTS (
                SELECT 1 FROM gap g CROSS JOIN LATERAL (
                    SELECT x.first_fence FROM \(table) x
                    WHERE x.first_fence >= (g.low + 1)::bigint << 40
                        AND x.first_fence < g.high::bigint << 40
                    ORDER BY x.first_fence LIMIT 1) x)
            """
        }
        let rows = try await database.run(
            """
            WITH gap AS MATERIALIZED (
                SELECT lag(incarnation, 1, -1) OVER (ORDER BY incarnation) AS low,
                    incarnation AS high
                FROM worker
                UNION ALL SELECT coalesce(max(incarnation), -1), \(Fence.incarnationEnd) FROM worker
            )
            SELECT EXISTS (\(Self.silentWorkers(for: lease, heardBy: incarnation)))
                OR \(isAnyRun(of: "attempt_run")) OR \(isAnyRun(of: "rename_run"))
                OR \(isAny(of: "attempt"))
                OR \(isAny(of: "delivery")) OR \(isAny(of: "revocation")) AS is_orphaned
            """
        )
        return try rows.first?.decode("is_orphaned") ?? false
    }

    /// Returns the work that belongs to the worker, whether it knows of it or not.
    package func holdings(incarnation: Int32) async throws(StoreError) -> Holdings {
        let rows = try await database.run([
            "SELECT task_id, fence FROM running_attempt WHERE \(AttemptRuns.areOf(incarnation))",
            """
            \(Self.selectPendingRename)
            FROM pending_rename p JOIN task t ON t.id = ANY (ARRAY[p.task_id])
            WHERE \(AttemptRuns.areOf(incarnation))
            """,
            // Last, so that an attempt that was taken away meanwhile is in one of them.
            "SELECT fence FROM revocation WHERE worker = \(incarnation)",
        ])
        return Holdings(
            attempts: try rows[0].map { row throws(StoreError) in
                (task: try row.task("task_id"), fence: try row.fence("fence"))
            },
            pendingRenames: try rows[1].map { row throws(StoreError) in
                try PendingRename(row)
            },
            revocations: try rows[2].map { row throws(StoreError) in try row.fence("fence") }
        )
    }

    /// The columns of a pending rename `p` and its task `t`.
    private static let selectPendingRename: Query = """
        SELECT p.task_id, p.fence, p.part_fence, p.http_status, p.bytes_received, p.response_head,
            p.inode, p.inode_born_at_ns, t.tenant_id, t.destination_path, t.destination_overwrite
        """

    /// Removes the revocations of attempts that have ended; the worker that ended them may be
    /// killed before the part files are gone.
    package func removeRevocations(_ fences: [Fence]) async throws(StoreError) {
        _ = try await database.run(
            Self.removal(ofRevocations: "fence = ANY(\(fences.map(\.rawValue)))")
        )
    }

    /// Returns the statement that removes revocations that meet `condition`, and schedules the
    /// removal of the files that nothing needs.
    private static func removal(ofRevocations condition: Query) -> Query {
        """
        WITH gone AS (
            DELETE FROM revocation WHERE \(condition) RETURNING task_id, fence
        )
        INSERT INTO abandoned_part (fence, task_id)
        SELECT g.fence, g.task_id FROM gone g JOIN task t ON t.id = g.task_id
        WHERE NOT EXISTS (SELECT 1 FROM partial x WHERE x.part_fence = g.fence)
            AND NOT EXISTS (SELECT 1 FROM resume_data r WHERE r.part_fence = g.fence)
            AND NOT EXISTS (
                SELECT 1 FROM outcome o
                WHERE o.task_id = g.task_id AND o.part_fence = g.fence)
        ON CONFLICT (fence) DO NOTHING
        """
    }
}

extension DeathStreak {
    fileprivate init(_ row: StoredRow) throws(StoreError) {
        let predecessors = zip(
            try row.decode("are_lost", as: [Bool].self),
            try row.decode("bytes_reached", as: [Int64].self)
        )
        self.init(
            bytesReached: try row.decode("bytes_received"),
            after: predecessors.map { Predecessor(isLost: $0, bytesReached: $1) }
        )
    }
}

extension PendingRename {
    fileprivate init(_ row: StoredRow) throws(StoreError) {
        let bytesReceived = try row.decode("bytes_received", as: Int64.self)
        guard let result = try row.result(bytesReceived: bytesReceived) else {
            throw StoreError(decoding: "a pending rename has no response")
        }
        self.init(
            task: try row.task("task_id"),
            fence: try row.fence("fence"),
            partFence: try row.fence("part_fence"),
            tenant: try row.tenant("tenant_id"),
            destination: try row.destination(),
            result: result,
            file: FileIdentity(
                inode: try row.decode("inode"),
                bornAtNanoseconds: try row.decode("inode_born_at_ns")
            )
        )
    }
}
