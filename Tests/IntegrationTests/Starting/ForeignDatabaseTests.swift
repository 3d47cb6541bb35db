import Foundation
import Postgres
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The service on a PostgreSQL with default settings rather than those of the private cluster.
@Suite(.timeLimit(.minutes(5))) struct ForeignDatabaseTests {
    @Test func compilesNoQuery() async throws {
        let directory = try DataDirectory()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let url = "host=\(directory.path)/run user=transferd dbname=postgres"
        let aside = try await TestDatabase.connection(to: url)
        // The default since PostgreSQL 12.
        try await aside.executeScript("ALTER DATABASE postgres SET jit = on")
        let service = try await ServiceProcess(in: directory, ["--database-url", url])
        let client = try service.client(key: directory.apiKey())
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 2000)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        try await client.makeSession("s")
        let ids = try await client.submit(
            Array(repeating: origin.url("/file"), count: 100),
            to: "s"
        )
        for id in ids {
            try await eventually("the task is completed") {
                try await client.task(id).state == "completed"
            }
        }
        let rows = try await aside.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'transferd'"
        )
        #expect(!rows.isEmpty)
        for row in rows {
            let pid: Int32 = try row.decode("pid")
            #expect(try !Self.hasCompiled(pid))
        }
        // This recognizes a process that has compiled something.
        _ = try await aside.execute("SELECT set_config('jit_above_cost', '0', false)")
        _ = try await aside.execute("SELECT set_config('jit', 'on', false)")
        _ = try await aside.execute("SELECT sum(i) FROM generate_series(1, 10) AS i")
        let own = try await aside.execute("SELECT pg_backend_pid() AS pid")
        #expect(try Self.hasCompiled(own[0].decode("pid")))
        await aside.close()
        #expect(await service.terminate() == 0)
        #expect(await front.terminate() == 0)
    }

    /// Returns whether a process of the server has loaded its compiler, as it does when it first
    /// needs it.
    private static func hasCompiled(_ pid: Int32) throws -> Bool {
        // Read it to its end: as a string, a file without a size would be cut after a page.
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(pid)/maps")).readToEnd()
        return maps?.range(of: Data("llvmjit.so".utf8)) != nil
    }
}
