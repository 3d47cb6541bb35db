import Foundation
import Postgres
import TransferModel

/// All SQL of the benchmark that no verb of the store performs.
extension MeasuredDatabase {
    /// The work that a server has done since its start.
    struct Effort {
        /// The bytes written to its write-ahead log.
        let walBytes: Int64
        let commits: Int64

        static func - (after: Effort, before: Effort) -> Effort {
            Effort(
                walBytes: after.walBytes - before.walBytes,
                commits: after.commits - before.commits
            )
        }
    }

    /// The cost of one kind of statement since ``forgetCosts()``.
    struct Cost {
        let calls: Int64
        /// The number of pages looked at, in memory or on disk.
        let buffers: Int64
        /// The number of pages that were not in PostgreSQL's memory.
        let reads: Int64
        let milliseconds: Double
        /// The duration of the quickest call in milliseconds, which nobody else has held up.
        let fastest: Double
    }

    /// Kinds of statements, recognized by their text.
    enum Kind: String {
        /// The claim, together with the look-up of the existing flows.
        case claim = "%FROM ready_run r%"
        case submit = "%INSERT INTO task (%INSERT INTO ready_run (%"
    }

    /// The way in which the rows of a backlog are spread over hosts.
    enum Spread: String, CaseIterable {
        /// Evenly over ``hosts``.
        case many = "1,000 hosts"
        /// One row for each host, and all others for a single host.
        case one = "1 host"

        static let hostKeys = 1000
        /// The single host of ``Spread/one``; the other hosts are numbered from 1.
        static let fullHost = HostKey(rawValue: 0)
    }

    static let pgbenchInsert = "INSERT INTO insert_row (body) VALUES (repeat('x', 100));\n"

    /// Returns the server's host and the user to connect as.
    static func address(_ connection: Connection) async throws -> (host: String, user: String) {
        let rows = try await connection.execute(
            """
            SELECT trim(both '"' from current_setting('unix_socket_directories')) AS host,
                current_user::text AS name
            """
        )
        guard let row = rows.first else { throw Program.Failure(description: "no server") }
        return (try row.decode("host"), try row.decode("name"))
    }

    func makePeers() async throws {
        try await aside.executeScript("CREATE EXTENSION pg_stat_statements")
        try await aside.executeScript(
            "CREATE DATABASE \(Query.quoted(identifier: Self.peers))"
        )
    }

    /// The table that pgbench inserts into, in the database of peers.
    static let pgbenchTable = """
        CREATE TABLE insert_row (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text)
        """

    func effort() async throws -> Effort {
        let rows = try await aside.execute(
            """
            SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS bytes, xact_commit
            FROM pg_stat_database WHERE datname = current_database()
            """
        )
        guard let row = rows.first else { throw Program.Failure(description: "no statistics") }
        return Effort(walBytes: try row.decode("bytes"), commits: try row.decode("xact_commit"))
    }

    func forgetCosts() async throws {
        _ = try await aside.execute("SELECT pg_stat_statements_reset() IS NULL AS done")
    }

    func cost(of kind: Kind) async throws -> Cost {
        let rows = try await aside.execute(
            """
            SELECT coalesce(sum(calls), 0)::bigint AS calls,
                coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint AS buffers,
                coalesce(sum(shared_blks_read), 0)::bigint AS reads,
                coalesce(sum(total_exec_time), 0)::float8 AS milliseconds,
                coalesce(min(min_exec_time), 0)::float8 AS fastest
            FROM pg_stat_statements WHERE query LIKE \(kind.rawValue)
            """
        )
        guard let row = rows.first else { throw Program.Failure(description: "no statistics") }
        return Cost(
            calls: try row.decode("calls"),
            buffers: try row.decode("buffers"),
            reads: try row.decode("reads"),
            milliseconds: try row.decode("milliseconds"),
            fastest: try row.decode("fastest")
        )
    }

    /// Returns the number of ended tasks, and of tasks that have ended more than once.
    func ends() async throws -> (count: Int64, repeated: Int64) {
        let rows = try await aside.execute(
            """
            SELECT coalesce(sum(k.ends), 0)::bigint AS ends,
                count(*) FILTER (WHERE k.ends > 1) AS repeated
            FROM (
                SELECT count(*) AS ends FROM event
                WHERE kind IN ('task.completed', 'task.failed', 'task.cancelled')
                GROUP BY task_id
            ) k
            """
        )
        guard let row = rows.first else { throw Program.Failure(description: "no events") }
        return (try row.decode("ends"), try row.decode("repeated"))
    }

    /// Holds a snapshot for `duration`; rows that end meanwhile cannot be removed.
    func holdSnapshot(for duration: Duration) async throws {
        let connection = try await connection(
            ["default_transaction_isolation": "repeatable read"]
        )
        let seconds = duration / .seconds(1)
        do {
            _ = try await connection.execute("SELECT pg_sleep(\(seconds)) IS NULL AS done")
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    /// Returns how many snapshots of ``holdSnapshot(for:)`` are held.
    func heldSnapshots() async throws -> Int64 {
        let rows = try await aside.execute(
            """
            SELECT count(*) AS snapshots FROM pg_stat_activity
            WHERE query LIKE 'SELECT pg_sleep%' AND backend_xmin IS NOT NULL
            """
        )
        return try rows.first?.decode("snapshots") ?? 0
    }

    /// Makes `count` tasks of the session that wait for a day that never comes.
    func makeDelayed(_ count: Int, in session: SessionID) async throws {
        try await insert(0..<count, in: session, spread: .many, areReady: false)
    }

    /// Makes `count` runnable tasks, equally many in each of `sessions`.
    func makeReady(_ count: Int, in sessions: [SessionID], spread: Spread) async throws {
        let perSession = count / sessions.count
        for (index, session) in sessions.enumerated() {
            let numbers = index * perSession..<(index + 1) * perSession
            try await insert(numbers, in: session, spread: spread, areReady: true)
        }
    }

    private func insert(
        _ numbers: Range<Int>,
        in session: SessionID,
        spread: Spread,
        areReady: Bool
    ) async throws {
        let session = session.uuid
        let rows = Int64(numbers.count)
        let first = Int64(numbers.lowerBound)
        let hostKeys = Int64(Spread.hostKeys)
        let isEven = spread == .many
        _ = try await aside.execute([
            // Like the version 7 identifiers of tasks that came in batches of 20, last year.
            """
            INSERT INTO task (
                id, session_id, tenant_id, generation, host_key, priority_rank, url, headers,
                created_at, earliest_begin_at)
            SELECT (lpad(to_hex(1750000000000 + n / 20), 12, '0') || '70008000'
                    || lpad(to_hex(n % 20), 12, '0'))::uuid,
                \(session), \(tenant.uuid), 1,
                CASE WHEN \(isEven) OR n < \(hostKeys) THEN n % \(hostKeys) ELSE 0 END, 500,
                'http://127.0.0.1:9/small/' || n, '[]', now(),
                CASE WHEN NOT \(areReady) THEN now() + interval '10 years' END
            FROM generate_series(\(first), \(first + rows - 1)) AS g (n)
            """,
            areReady
                ? """
                INSERT INTO ready_run (
                    host_key, session_id, priority_rank, last_task_id, attempt, task_ids)
                SELECT host_key, session_id, priority_rank, ids[cardinality(ids)], 0, ids
                FROM (
                    SELECT host_key, session_id, priority_rank, array_agg(id ORDER BY id) AS ids
                    FROM task WHERE session_id = \(session)
                    GROUP BY host_key, session_id, priority_rank, left(id::text, 13)
                ) r
                """
                : """
                INSERT INTO delayed (task_id, due_at, attempt, host_key, session_id, priority_rank)
                SELECT id, earliest_begin_at, 0, host_key, session_id, priority_rank FROM task
                WHERE session_id = \(session)
                """,
            """
            INSERT INTO event_run (
                session_id, last_sequence, first_sequence, kind, generation, task_ids, task_state)
            SELECT \(session), max(n), min(n), 'task.created', 1, array_agg(id ORDER BY n),
                \(areReady ? "queued" : "scheduled")::text::task_state
            FROM (
                SELECT id, row_number() OVER (ORDER BY id) AS n FROM task
                WHERE session_id = \(session)
            ) t GROUP BY (n - 1) / 128
            """,
            """
            UPDATE session_progress SET generation = 1, outstanding = \(rows),
                last_sequence = \(rows)
            WHERE session_id = \(session)
            """,
        ])
    }

    /// Gives the server the files of its log that one in use has: each new one is filled with
    /// zeros, 16 MiB, for which all commits wait.
    func makeLogFiles() async throws {
        _ = try await aside.execute(
            """
            SELECT count(pg_logical_emit_message(false, 'bench', repeat('0123456789abcdef', 640000)))
            FROM generate_series(1, 120)
            """
        )
        try await aside.executeScript("CHECKPOINT")
    }

    /// Does at once the work that autovacuum and the checkpointer would have done later.
    func settle() async throws {
        for table in [
            "task", "ready_run", "delayed", "event_run", "attempt_run", "attempt", "outcome",
            "session_progress", "timer", "background_task_request", "client",
        ] {
            try await aside.executeScript("VACUUM (ANALYZE) \(table)")
        }
        try await aside.executeScript("CHECKPOINT")
    }

    /// Removes all tasks, so that the next backlog starts with none.
    func clear() async throws {
        try await aside.executeScript(
            """
            TRUNCATE task, ready_run, delayed, held, attempt_run, attempt, rename_run, outcome,
                attempt_log, partial, event_run;
            UPDATE session_progress SET generation = 0, outstanding = 0, last_sequence = 0,
                completed = 0, failed = 0, cancelled = 0;
            """
        )
    }
}
