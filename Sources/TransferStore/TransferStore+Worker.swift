import Postgres
package import TransferModel

/// What one worker took over from dead ones.
package struct Takeover: Sendable {
    /// How many workers were found dead.
    package let workers: Int
    /// Their attempts, now this worker's, to be run again or given up.
    package let attempts: [TaskClaim]
    /// Their publications, now this worker's, to be finished.
    package let publications: [Publication]
}

/// What the database says that a worker is at work on.
package struct Holdings: Sendable {
    package let attempts: [(task: TaskID, fence: Fence)]
    package let publications: [Publication]
}

/// How the database and those that share it are.
package struct Vitals: Sendable {
    /// Registered workers.
    package let workers: Int
    /// The oldest version that may run on the schema; nil for one that holds nothing new.
    package let schemaFloor: Int?
}

extension TransferStore {
    /// Fences set aside for one takeover; more attempts than that wait for the next.
    private static let takeoverMax = 10_000

    /// Registers a running instance, durably, before it may claim anything; one that `leasesShards`
    /// will take its share of the hosts, and so leaves less to others.
    package func registerWorker(
        name: String,
        leasesShards: Bool = false
    ) async throws(StoreError) -> Int32 {
        let rows = try await run(
            """
            INSERT INTO worker (name, leases_shards, schema_version)
            VALUES (\(name), \(leasesShards), \(Int32(clamping: settings.schemaVersion)))
            RETURNING incarnation
            """
        )
        return try decoding { () throws(PostgresError) in
            guard let row = rows.first else { throw PostgresError(decoding: "no incarnation") }
            return try row.decode("incarnation")
        }
    }

    /// Tells the others that the worker lives.
    ///
    /// - Returns: false when it was declared dead: its attempts belong to others now.
    package func heartbeat(incarnation: Int32) async throws(StoreError) -> Bool {
        // Lost only together with the database's uptime, and followed by another one.
        let rows = try await run(
            [.unsynced],
            """
            UPDATE worker SET heartbeat_at = clock_timestamp() WHERE incarnation = \(incarnation)
            """
        )
        return rows.affectedCount == 1
    }

    /// What an instance looks at all the time; the answer is the sign of life that health is judged
    /// by.
    package func vitals() async throws(StoreError) -> Vitals {
        let rows = try await run(
            """
            SELECT (SELECT count(*) FROM worker) AS workers,
                (SELECT max(coalesce(runs_beside, number)) FROM schema_migration
                    WHERE number > \(Int32(clamping: settings.schemaVersion))) AS schema_floor
            """
        )
        return try decoding { () throws(PostgresError) in
            guard let row = rows.first else { throw PostgresError(decoding: "no vitals") }
            return Vitals(
                workers: Int(try row.decode("workers", as: Int64.self)),
                schemaFloor: try row.decodeIfPresent("schema_floor", as: Int32.self).map { Int($0) }
            )
        }
    }

    /// Removes a registration whose attempts and deliveries were all given back.
    package func retireWorker(incarnation: Int32) async throws(StoreError) {
        _ = try await run("DELETE FROM worker WHERE incarnation = \(incarnation)")
    }

    /// Takes the work of all workers that have been silent for `lease`.
    ///
    /// The attempts get new fences, so that a worker that was only asleep can conclude nothing;
    /// publications keep the name of their part file. Part files that nobody will go on with are
    /// left to ``abandonedParts()``. Time is the database's alone.
    package func takeOver(
        silentFor lease: Duration,
        identity: WorkerIdentity
    ) async throws(StoreError) -> Takeover {
        guard try await isAnyOrphaned(silentFor: lease, beside: identity.incarnation) else {
            return Takeover(workers: 0, attempts: [], publications: [])
        }
        let fences = identity.reserve(2 * Self.takeoverMax)
        let me = fences.incarnation
        let first = fences.first.rawValue
        let rows = try await run([
            """
            DELETE FROM worker WHERE incarnation IN (
                SELECT incarnation FROM worker
                WHERE incarnation <> \(me) AND heartbeat_at
                    < clock_timestamp() - \(lease.milliseconds) * interval '1 ms'
                ORDER BY incarnation FOR UPDATE SKIP LOCKED)
            """,
            """
            WITH orphan AS (
                SELECT task_id, fence, row_number() OVER (ORDER BY task_id) - 1 AS number
                FROM attempt WHERE NOT EXISTS (
                    SELECT 1 FROM worker w WHERE w.incarnation = attempt.worker)
                ORDER BY task_id LIMIT \(Self.takeoverMax)
            ),
            a AS (
                UPDATE attempt x SET worker = \(me), fence = \(first) + o.number
                FROM orphan o WHERE x.task_id = o.task_id AND NOT EXISTS (
                    SELECT 1 FROM worker w WHERE w.incarnation = x.worker)
                RETURNING x.task_id, x.fence, x.number, x.began_at, o.fence AS part_fence
            ),
            abandoned_row AS (
                INSERT INTO abandoned_part (fence, task_id)
                SELECT a.part_fence, a.task_id FROM a WHERE NOT EXISTS (
                    SELECT 1 FROM partial x WHERE x.part_fence = a.part_fence)
            )
            \(Self.selectClaim) FROM a \(Self.joinClaim)
            """,
            """
            WITH orphan AS (
                SELECT task_id, row_number() OVER (ORDER BY task_id) - 1 AS number
                FROM publication WHERE NOT EXISTS (
                    SELECT 1 FROM worker w WHERE w.incarnation = publication.worker)
                ORDER BY task_id LIMIT \(Self.takeoverMax)
            ),
            p AS (
                UPDATE publication x
                SET worker = \(me), fence = \(first + Int64(Self.takeoverMax)) + o.number
                FROM orphan o WHERE x.task_id = o.task_id AND NOT EXISTS (
                    SELECT 1 FROM worker w WHERE w.incarnation = x.worker)
                RETURNING x.*
            )
            \(Self.selectPublication) FROM p JOIN task t ON t.id = p.task_id
            """,
            """
            UPDATE delivery SET due_at = now(), worker = NULL, fence = NULL
            WHERE worker IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM worker w WHERE w.incarnation = delivery.worker)
            """,
            """
            WITH gone AS (
                DELETE FROM revocation WHERE NOT EXISTS (
                    SELECT 1 FROM worker w WHERE w.incarnation = revocation.worker)
                RETURNING task_id, fence
            )
            INSERT INTO abandoned_part (fence, task_id)
            SELECT g.fence, g.task_id FROM gone g
            WHERE NOT EXISTS (SELECT 1 FROM partial x WHERE x.part_fence = g.fence)
                AND NOT EXISTS (SELECT 1 FROM resume_data r WHERE r.part_fence = g.fence)
                AND NOT EXISTS (
                    SELECT 1 FROM outcome o
                    WHERE o.task_id = g.task_id AND o.part_fence = g.fence)
            ON CONFLICT (fence) DO NOTHING
            """,
        ])
        return try decoding { () throws(PostgresError) in
            Takeover(
                workers: rows[0].affectedCount,
                attempts: try rows[1].map { row throws(PostgresError) in try TaskClaim(row) },
                publications: try rows[2].map { row throws(PostgresError) in
                    try Publication(row)
                }
            )
        }
    }

    /// Whether a worker is dead, or something is of one that was.
    ///
    /// Rows that are of no worker lie in the gaps between those that there are, so that nothing of a
    /// living one is read, and of what it has had nothing that an old snapshot keeps.
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
        let rows = try await run(
            """
            WITH gap AS MATERIALIZED (
                SELECT lag(incarnation, 1, -1) OVER (ORDER BY incarnation) AS low,
                    incarnation AS high
                FROM worker
                UNION ALL SELECT coalesce(max(incarnation), -1), \(Int32.max) FROM worker
            )
            SELECT EXISTS (
                    SELECT 1 FROM worker
                    WHERE incarnation <> \(incarnation) AND heartbeat_at
                        < clock_timestamp() - \(lease.milliseconds) * interval '1 ms')
                OR \(isAny(of: "attempt")) OR \(isAny(of: "publication"))
                OR \(isAny(of: "delivery")) OR \(isAny(of: "revocation")) AS is_orphaned
            """
        )
        return try decoding { () throws(PostgresError) in
            try rows.first?.decode("is_orphaned") ?? false
        }
    }

    /// What the worker has to look after, whether it knows or not.
    package func holdings(incarnation: Int32) async throws(StoreError) -> Holdings {
        let rows = try await run([
            "SELECT task_id, fence FROM attempt WHERE worker = \(incarnation)",
            """
            \(Self.selectPublication) FROM publication p JOIN task t ON t.id = p.task_id
            WHERE p.worker = \(incarnation)
            """,
        ])
        return try decoding { () throws(PostgresError) in
            Holdings(
                attempts: try rows[0].map { row throws(PostgresError) in
                    (task: try row.task("task_id"), fence: try row.fence("fence"))
                },
                publications: try rows[1].map { row throws(PostgresError) in
                    try Publication(row)
                }
            )
        }
    }

    /// The columns of a publication `p` and its task `t`.
    private static let selectPublication: Query = """
        SELECT p.task_id, p.fence, p.part_fence, p.number, p.session_id, p.http_status,
            p.bytes_received, p.content_type, p.etag, p.is_length_verified,
            p.suggested_file_name, t.tenant_id,
            t.destination_path, t.destination_overwrite
        """

    /// Forgets revocations whose attempts have ended, with their part files.
    package func removeRevocations(_ fences: [Fence]) async throws(StoreError) {
        _ = try await run(
            "DELETE FROM revocation WHERE fence = ANY(\(fences.map(\.rawValue)))"
        )
    }
}

extension Publication {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(
            task: try row.task("task_id"),
            fence: try row.fence("fence"),
            partFence: try row.fence("part_fence"),
            tenant: try row.tenant("tenant_id"),
            session: try row.session("session_id"),
            number: Int(try row.decode("number", as: Int16.self)),
            destination: try row.destination(),
            result: TransferResult(
                httpStatus: Int(try row.decode("http_status", as: Int16.self)),
                bytesReceived: try row.decode("bytes_received"),
                contentType: try row.decodeIfPresent("content_type"),
                etag: try row.decodeIfPresent("etag"),
                isLengthVerified: try row.decode("is_length_verified"),
                suggestedFileName: try row.decodeIfPresent("suggested_file_name")
            )
        )
    }
}
