import Foundation
import Logging
import Postgres
import ServiceLifecycle
import Testing
import TransferContainer
import TransferEngine
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct PrunerTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func migratedStore(_ connection: Connection) async throws -> Stores {
        try await Migrator(folder: Checkout.migrations, logger: logger).migrate(connection)
        return Stores(Database(pool: TestDatabase.current.pool()))
    }

    /// Runs the pruner while `body` runs, and then shuts it down gracefully until it ends.
    private func withPruner(
        _ stores: Stores,
        _ body: @Sendable (Pruner) async throws -> Void
    ) async throws {
        let folder = try TestFolder("pruner")
        defer { withExtendedLifetime(folder) {} }
        let pruner = try Pruner(
            stores: EngineStores(stores.database),
            container: Container(directory: folder.path),
            retention: Pruner.Retention(
                events: .seconds(30 * 24 * 3600),
                attempts: .seconds(30 * 24 * 3600),
                sessions: .seconds(30 * 24 * 3600)
            ),
            logger: logger
        )
        let group = ServiceGroup(services: [pruner], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body(pruner)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    private static func partitions(
        _ connection: Connection,
        of log: PartitionedLog = .events
    ) async throws -> [String] {
        try await connection.execute(
            """
            SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = to_regclass(\(log.rawValue)) ORDER BY 1
            """
        ).map { try $0.decode("name") }
    }

    @Test func makesRoomAndRemovesWhatIsTooOldAlthoughTheTableIsInUse() async throws {
        let connection = try await TestDatabase.current.connection()
        let stores = try await migratedStore(connection)
        let other = try await TestDatabase.current.connection()
        try await connection.executeScript(
            """
            CREATE TABLE event_run_20200106 PARTITION OF event_run
            FOR VALUES FROM ('2020-01-06 00:00:00+00') TO ('2020-01-13 00:00:00+00');
            INSERT INTO event_run (
                session_id, last_sequence, first_sequence, kind, generation, occurred_at)
            SELECT gen_random_uuid(), 1, 1, 'session.invalidated', 0, moment
            FROM unnest(ARRAY[timestamptz '2020-01-07', '2021-01-01', now()]) moment;
            INSERT INTO client_string_change VALUES (gen_random_uuid(), 1);
            CREATE TABLE attempt_log_20200106 PARTITION OF attempt_log
            FOR VALUES FROM ('2020-01-06 00:00:00+00') TO ('2020-01-13 00:00:00+00');
            INSERT INTO attempt_log (
                task_id, fence, number, outcome, started_at, ended_at, bytes_received)
            SELECT gen_random_uuid(), 1, 1, 'lost', moment, moment, 0
            FROM unnest(ARRAY[timestamptz '2020-01-07', '2021-01-01', now()]) moment
            """
        )
        try await other.executeScript("BEGIN; LOCK TABLE event IN ROW EXCLUSIVE MODE")
        try await withPruner(stores) { _ in
            // It waits for users of the table, but never forever.
            try await eventually("it has tried") {
                try await connection.execute(
                    "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                ).isEmpty == false
            }
            #expect(try await Self.partitions(connection).contains("event_run_20200106"))
            try await other.executeScript("COMMIT")
            try await eventually("it has done its work") {
                let left = try await connection.execute("SELECT 1 FROM event")
                let strings = try await connection.execute("SELECT 1 FROM client_string_change")
                let attempts = try await connection.execute("SELECT 1 FROM attempt_log")
                return left.count == 1 && strings.isEmpty && attempts.count == 1
            }
        }
        let names = try await Self.partitions(connection)
        #expect(!names.contains("event_run_20200106"))
        // This week's events were in the default partition when their partition was to be made.
        #expect(names.count == 3)
        #expect(names.last == "event_run_default")
        let attempts = try await Self.partitions(connection, of: .attempts)
        #expect(!attempts.contains("attempt_log_20200106"))
        #expect(attempts.count == 3)
    }

    @Test func makesNothingTwice() async throws {
        let connection = try await TestDatabase.current.connection()
        let stores = try await migratedStore(connection)
        let folder = try TestFolder("pruner")
        defer { withExtendedLifetime(folder) {} }
        let pruner = try Pruner(
            stores: EngineStores(stores.database),
            container: Container(directory: folder.path),
            retention: Pruner.Retention(
                events: .seconds(30 * 24 * 3600),
                attempts: .seconds(30 * 24 * 3600),
                sessions: .seconds(30 * 24 * 3600)
            ),
            logger: logger
        )
        for _ in 0..<2 {
            try await pruner.makePartitions()
            for log in PartitionedLog.allCases {
                #expect(try await Self.partitions(connection, of: log).count == 4)
            }
        }
    }
}
