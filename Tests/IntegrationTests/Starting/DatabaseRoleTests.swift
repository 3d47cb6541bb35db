import ChildProcess
import Foundation
import Postgres
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Instances whose role in PostgreSQL changes rows and defines nothing.
@Suite(.timeLimit(.minutes(5)), .serialized) struct DatabaseRoleTests {
    @Test func thePrivateClusterIsServedByARoleThatDefinesNothing() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        let rows = try await aside.execute(
            """
            SELECT DISTINCT usename::text AS name FROM pg_stat_activity
            WHERE application_name LIKE 'transferd%' AND pid <> pg_backend_pid()
            """
        )
        #expect(try rows.map { try $0.decode("name", as: String.self) } == ["transferd_service"])
        let checks = try await Program.run(["doctor"] + directory.options, lines: 20)
        #expect(checks.output.contains("the service's role may change rows, and define nothing"))
        await aside.close()
        #expect(await service.terminate() == 0)
    }

    @Test func ofAnOwnDatabaseItWaitsUntilItsOwnerHasPreparedIt() async throws {
        let cluster = try DataDirectory()
        let front = try await ServiceProcess(in: cluster, ["--roles", "api"])
        let owner = "host=\(cluster.path)/run user=transferd dbname=shop"
        let role = "host=\(cluster.path)/run user=shopkeeper dbname=shop"
        let aside = try await TestDatabase.connection(to: cluster.databaseURL)
        for statement in ["CREATE DATABASE shop", "CREATE ROLE shopkeeper LOGIN"] {
            try await aside.executeScript(statement)
        }
        await aside.close()

        let directory = try DataDirectory()
        // With an external database, nobody makes this directory.
        try FileManager.default.createDirectory(
            atPath: directory.path,
            withIntermediateDirectories: true
        )
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let port = Int(held.number)
        let log = try directory.log()
        let process = try Program.start(
            ["serve", "--port", "\(port)", "--database-url", role, "--secrets", "plain"]
                + directory.options,
            log: log
        )
        let probe = HTTPClient(port: port, key: "none")
        try await eventually("it says that the owner has to migrate") {
            (try? await probe.get("/readyz", as: ProbeDocument.self).reason?
                .contains("run `transferd migrate` as the owner")) == true
        }
        let prepared = try await Program.run(
            ["migrate", "--grant-to", "shopkeeper", "--database-url", owner] + directory.options,
            lines: 2
        )
        #expect(prepared.status == 0)
        #expect(prepared.output.contains("granted to shopkeeper"))
        _ = try #require(await process.line())
        try await eventually("it is ready") { await probe.status("GET", "/readyz") == 200 }
        #expect(try !String(contentsOfFile: log, encoding: .utf8).contains("may change the schema"))
        process.signal(SIGTERM)
        #expect(await process.status() == 0)

        let checks = try await Program.run(
            ["doctor", "--database-url", owner] + directory.options,
            lines: 20
        )
        #expect(checks.output.contains("warns the role transferd is a superuser"))
        #expect(await front.terminate() == 0)
    }
}
