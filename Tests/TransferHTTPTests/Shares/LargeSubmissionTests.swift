import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferHTTP

/// Submissions of so many tasks that each has a transaction of its own.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct LargeSubmissionTests {
    private static let body =
        "["
        + Array(
            repeating: #"{"url": "http://a.example/"}"#,
            count: SubmissionStore.groupedTasksMax + 1
        ).joined(separator: ",") + "]"

    /// Otherwise they would take every connection to the database, four of them each.
    @Test func theyLeaveConnectionsForOthers() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let lock = try await TaskTableLock()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        try await server.send("POST", "\(session)/tasks", Self.body).status
                    }
                }
                try await eventually("those of a tenant that is alone are stored") {
                    try await lock.waiters() == SharedResources.storingsAloneMax
                }
                let other = try await server.session(as: server.second)
                group.addTask {
                    try await server.send(
                        "POST",
                        "\(other)/tasks",
                        Self.body,
                        as: server.second
                    ).status
                }
                try await eventually("another tenant's is") {
                    try await lock.waiters() == SharedResources.storingsMax
                }
                for _ in 0..<20 {
                    #expect(try await server.send("GET", other, as: server.second).status == 200)
                }
                #expect(try await lock.waiters() == SharedResources.storingsMax)
                try await lock.release()
                // On a slow machine, one that has waited too long for its turn is told to come
                // again.
                var statuses: [Int] = []
                for try await status in group { statuses.append(status) }
                #expect(statuses.contains(202))
                #expect(statuses.allSatisfy { [202, 429].contains($0) })
            }
        }
    }

    @Test func aTenantHasFewBesideOthers() async throws {
        let presence = TenantPresence()
        try await APIServer.run(presence: presence) { server in
            let session = try await server.session()
            // Its next request is never longer ago than a second.
            presence.note(server.second.id, at: .now + .seconds(600))
            let lock = try await TaskTableLock()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        _ = try await server.send("POST", "\(session)/tasks", Self.body)
                    }
                }
                let most = SharedResources.storingsPerTenantMax
                try await eventually("as many are stored as may be") {
                    try await lock.waiters() == most
                }
                for _ in 0..<20 {
                    try await server.send("GET", session)
                    #expect(try await lock.waiters() == most)
                }
                try await lock.release()
            }
        }
    }
}

/// A lock that nobody's tasks get past.
private struct TaskTableLock {
    private let locking: Connection
    private let looking: Connection

    init() async throws {
        locking = try await TestDatabase.current.connection()
        looking = try await TestDatabase.current.connection()
        _ = try await locking.execute("BEGIN")
        _ = try await locking.execute("LOCK TABLE task IN EXCLUSIVE MODE")
    }

    /// Returns the number of transactions that wait for it.
    func waiters() async throws -> Int {
        let rows = try await looking.execute(
            """
            SELECT count(*) AS count FROM pg_locks
            WHERE relation = 'task'::regclass AND NOT granted
            """
        )
        return Int(try rows[0].decode("count", as: Int64.self))
    }

    func release() async throws { _ = try await locking.execute("ROLLBACK") }
}
