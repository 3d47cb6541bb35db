import Foundation
package import Postgres
package import TransferModel
import TransferStore

/// A full database: a session of many outstanding tasks, one of equally many results, a hundredth
/// as many other sessions with a subscription each, and the records kept beside them.
///
/// A few statements make its rows as the service would have written them, counters included.
package struct ScaleWorld: Sendable {
    /// The name of the session of outstanding tasks in every state.
    package static let large = "large"
    /// The name of the session of results.
    package static let kept = "kept"
    /// The number of generations of `kept`; the tasks of the first have expired.
    package static let generations = 11
    /// The numbers of attempts and of pending renames of the whole fleet.
    static let running = 300
    static let renames = 20

    /// The tenant that owns everything in it.
    package let tenant: TenantID
    /// The number of outstanding tasks of `large`, and of results of `kept`.
    package let tasks: Int
    /// The worker that has all attempts.
    package let worker: WorkerIdentity
    /// The time of the first task, in milliseconds since 1970.
    let epoch: Int64

    /// The number of tasks in a generation of `kept`.
    package var generation: Int { tasks / (Self.generations - 1) }
    /// The number of sessions, always below a tenant's maximum, because measured verbs make others.
    package var sessions: Int { max(20, min(tasks / 100, Int(Quota.sessionsMax) - 100)) }

    /// Connects to the test's database for the statements that fill it, which may take longer than
    /// any of the service.
    package static func connection() async throws -> Connection {
        try await TestDatabase.current.connection {
            $0.statementTimeout = .zero
            $0.queryDeadline = $0.scriptDeadline
        }
    }

    /// Fills the tables for `tasks`, a multiple of 1000, after removing all rows.
    package init(
        tasks: Int,
        withOwners hasOwners: Bool = true,
        of tenant: TenantID,
        worker: WorkerIdentity,
        in stores: Stores,
        by connection: Connection
    ) async throws {
        precondition(tasks % 1000 == 0, "each kind of task has its part of a thousand")
        self.tenant = tenant
        self.tasks = tasks
        self.worker = worker
        epoch = Int64((Date().timeIntervalSince1970 - 3 * 3600) * 1000)
        for log in PartitionedLog.allCases {
            for partition in try await stores.partitions.missingPartitions(of: log) {
                _ = try await stores.partitions.makePartition(partition)
            }
        }
        for table in Self.tables { _ = try await connection.execute("DELETE FROM \(table)") }
        for statement in statements + (hasOwners ? ownerRows : []) {
            _ = try await connection.execute(statement)
        }
    }

    /// Removes all rows but one of each table, and has statistics made of what remains.
    package func keepOneRow(by connection: Connection) async throws {
        for table in Self.tables {
            _ = try await connection.execute(
                "DELETE FROM \(table) WHERE ctid <> (SELECT ctid FROM \(table) LIMIT 1)"
            )
        }
        try await connection.executeScript("VACUUM ANALYZE")
    }

    /// The tables that are filled.
    private static let tables: [Query] = [
        "task", "ready_run", "held", "delayed", "asked", "answer", "attempt_run", "attempt",
        "rename_run", "outcome", "attempt_log", "event_run", "event_feed", "feed_tenant",
        "feed_session",
        "partial",
        "task_move", "session_task_count", "tenant_task_count",
        "session_progress", "session", "signing_secret", "subscription", "delivery",
        "delivery_attempt", "delivery_log", "expired_task", "resume_data", "abandoned_part",
        "revocation", "idempotency_key", "host", "host_tenant", "host_decision",
        "client_string_change", "task_owner", "upload_resource", "test_failure", "task_mirror",
        "result_hold",
        "credential", "session_credential", "retried_failure", "bulk_operation", "timer",
        "assertion", "assertion_leak", "client_resumption",
        "background_task_transfer", "background_task_run", "background_task_request",
        "background_task_handler",
    ]
}

/// Names of the tables' contents.
extension ScaleWorld {
    /// Returns the `n`th task of the expired generation.
    package func expired(_ n: Int) -> TaskID { task(n) }
    /// Returns the `n`th task of `kept`, without the expired generation.
    package func kept(_ n: Int) -> TaskID { task(generation + n) }
    /// Returns the `n`th task of `large`.
    package func large(_ n: Int) -> TaskID { task(generation + tasks + n) }

    /// Returns the first task of `large` in a given state; the states follow each other by the
    /// hundred.
    package func large(_ state: TransferState) -> TaskID { large(Self.place(of: state)) }

    static func place(of state: TransferState) -> Int {
        switch state {
        case .queued: 0
        case .running: 69
        case .suspended: 70
        case .scheduled: 80
        case .waitingForRetry: 84
        case .waitingForConnectivity: 88
        case .waitingToBegin: 92
        case .waitingForAuthentication: 95
        case .completed, .failed, .cancelled:
            preconditionFailure("none of `large` has ended")
        }
    }

    /// Returns the session of number `n`; 0 is `large` and 1 `kept`.
    package func session(_ n: Int) -> SessionID { SessionID(uuid(epoch, 0x9000, n)) }
    /// Returns the subscription to session `n`; 0 is that to all sessions of the tenant.
    package func subscription(_ n: Int) -> SubscriptionID { SubscriptionID(uuid(epoch, 0xa000, n)) }
    /// Returns the `n`th delivery.
    package func delivery(_ n: Int) -> DeliveryID { DeliveryID(uuid(epoch, 0xb000, n)) }

    private func task(_ n: Int) -> TaskID { TaskID(uuid(epoch + Int64(n), 0x8000, n)) }

    private func uuid(_ time: Int64, _ kind: Int, _ n: Int) -> UUID {
        let bytes =
            Self.bytes(time, 6) + [0x70, 0] + Self.bytes(Int64(kind), 2)
            + Self.bytes(Int64(n), 6)
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    private static func bytes(_ value: Int64, _ count: Int) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0.suffix(count)) }
    }

    /// Returns SQL that computes the same as ``uuid(_:_:_:)``.
    func uuid(_ time: Query, _ kind: Query, _ n: Query) -> Query {
        """
        (lpad(to_hex((\(time))::bigint), 12, '0') || '7000' || \(kind)
            || lpad(to_hex((\(n))::bigint), 12, '0'))::uuid
        """
    }

    func taskID(_ n: Query) -> Query { uuid("\(epoch) + (\(n))", "'8000'", n) }
    func sessionID(_ n: Query) -> Query { uuid("\(epoch)", "'9000'", n) }
    func subscriptionID(_ n: Query) -> Query { uuid("\(epoch)", "'a000'", n) }
}
