import Foundation
import Postgres
import Synchronization
import Testing
import TransferTestSupport
import TransferWire

/// The health that an instance reports, and its registration, while its connections are busy.
@Suite(.timeLimit(.minutes(5))) struct LoadTests {
    @Test func aLoadedInstanceIsReadyAndAlive() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let client = try HTTPClient(service, key: directory.apiKey())
        try await eventually("it is ready") { await client.status("GET", "/readyz") == 200 }
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        let locker = try await TestDatabase.connection(to: directory.databaseURL)
        // Every query for a session waits.
        try await locker.executeScript("BEGIN; LOCK TABLE session IN ACCESS EXCLUSIVE MODE")
        let isOver = Mutex(false)
        let isLoadOver = { @Sendable in isOver.withLock { $0 } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            // More requests than there are places on the connections.
            for _ in 0..<64 {
                group.addTask {
                    while !isLoadOver(), !Task.isCancelled {
                        _ = await client.status("GET", "/v1/sessions/s")
                    }
                }
            }
            try await eventually("all connections wait") {
                let rows = try await aside.execute(
                    """
                    SELECT count(*) AS waiting FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND application_name = 'transferd'
                    """
                )
                return try rows[0].decode("waiting", as: Int.self) == 8
            }
            var last = try await heartbeat(aside)
            var beats = 0
            try await eventually("the heart beats", within: .seconds(60)) {
                let next = try await heartbeat(aside)
                if next > last { beats += 1 }
                last = next
                return beats >= 4
            }
            // Not each time it is asked: beside much else, a check of the database may be late.
            try await eventually("it is ready while all connections wait") {
                await client.status("GET", "/readyz") == 200
            }
            isOver.withLock { $0 = true }
            try await locker.executeScript("COMMIT")
            try await group.waitForAll()
        }
        await aside.close()
        await locker.close()
        #expect(await service.terminate() == 0)
    }

    private func heartbeat(_ connection: Connection) async throws -> Double {
        let rows = try await connection.execute(
            "SELECT max(extract(epoch FROM heartbeat_at))::float8 AS heartbeat FROM worker"
        )
        return try rows[0].decode("heartbeat")
    }
}
