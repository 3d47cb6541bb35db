import Postgres
import Testing
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
            let other = try await server.session(as: server.second)
            let locking = try await TestDatabase.current.connection()
            let looking = try await TestDatabase.current.connection()
            _ = try await locking.execute("BEGIN")
            _ = try await locking.execute("LOCK TABLE task IN EXCLUSIVE MODE")
            @Sendable func blocked() async throws -> Int64 {
                try await looking.execute(
                    """
                    SELECT count(*) AS count FROM pg_locks
                    WHERE relation = 'task'::regclass AND NOT granted
                    """
                )[0].decode("count")
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        try await server.send("POST", "\(session)/tasks", Self.body).status
                    }
                }
                try await eventually("a tenant's are stored") {
                    try await blocked() == SharedResources.storingsPerTenantMax
                }
                group.addTask {
                    try await server.send(
                        "POST",
                        "\(other)/tasks",
                        Self.body,
                        as: server.second
                    ).status
                }
                try await eventually("another tenant's is") {
                    try await blocked() == SharedResources.storingsMax
                }
                for _ in 0..<20 {
                    #expect(try await server.send("GET", other, as: server.second).status == 200)
                }
                #expect(try await blocked() == SharedResources.storingsMax)
                _ = try await locking.execute("ROLLBACK")
                // On a slow machine, one that has waited too long for its turn is told to come again.
                var statuses: [Int] = []
                for try await status in group { statuses.append(status) }
                #expect(statuses.contains(202))
                #expect(statuses.allSatisfy { [202, 429].contains($0) })
            }
        }
    }
}
