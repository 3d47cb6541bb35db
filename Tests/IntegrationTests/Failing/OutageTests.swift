import Foundation
import Glibc
import Postgres
import Testing
import TransferTestSupport
import TransferWire

/// The log for an operator when the database goes away.
@Suite(.timeLimit(.minutes(5))) struct OutageTests {
    @Test func theLogSaysOnceThatTheDatabaseIsAwayAndOnceThatItIsBack() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        func count(_ message: String) throws -> Int {
            try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
                .count { $0.contains(#""message":"\#(message)""#) }
        }
        let service = try await ServiceProcess(in: directory, log: log)
        let client = try HTTPClient(service, key: directory.apiKey())
        try await eventually("the instance is ready") {
            await client.status("GET", "/readyz") == 200
        }
        let server = try #require(directory.databaseServer)
        kill(server, SIGKILL)
        try await eventually("it is said that the database is away") {
            try count("the database is away") > 0
        }
        // The service restarts the database.
        try await eventually("it is said that the database is back", within: .seconds(60)) {
            try count("the database answers again") > 0
        }
        #expect(try count("the database is away") == 1)
        #expect(try count("the database answers again") == 1)
        #expect(await service.terminate() == 0)
        #expect(try count("the database is away") == 1)
    }

    /// Runs `body` with a client of a ready instance, and with what changes a setting of its
    /// server.
    private func withInstance(
        _ body: (HTTPClient, (String) async throws -> Void) async throws -> Void
    ) async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let client = try HTTPClient(service, key: directory.apiKey())
        try await eventually("the instance is ready") {
            await client.status("GET", "/readyz") == 200
        }
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        try await body(client) { change in
            try await aside.executeScript("ALTER SYSTEM \(change)")
            _ = try await aside.execute("SELECT pg_reload_conf() AS is_told")
        }
        await aside.close()
        #expect(await service.terminate() == 0)
    }

    @Test func anInstanceWhoseCommitsDoNotFinishIsNotReady() async throws {
        try await withInstance { client, set in
            try await set("SET synchronous_standby_names = 'nobody'")
            let change = Task { await client.status("PUT", "/v1/sessions/nightly", "{}") }
            try await eventually("it says so") {
                (try? await client.get("/readyz", as: ProbeDocument.self).reason?
                    .contains("synchronous_standby_names")) == true
            }
            let health = try await client.get("/health", as: HealthDocument.self)
            #expect(health.status == "warn")
            #expect(health.database.status == "fail")
            try await set("RESET synchronous_standby_names")
            try await eventually("the instance is ready again") {
                await client.status("GET", "/readyz") == 200
            }
            _ = await change.value
            #expect(await client.status("GET", "/v1/sessions/nightly") == 200)
        }
    }

    /// As a standby does, to which a URL of several hosts may lead after a failover.
    @Test func aDatabaseThatTakesNoChangesIsAway() async throws {
        try await withInstance { client, set in
            try await set("SET default_transaction_read_only = on")
            try await eventually("it says so") {
                (try? await client.get("/readyz", as: ProbeDocument.self).reason?
                    .contains("read-only")) == true
            }
            try await set("RESET default_transaction_read_only")
            try await eventually("the instance is ready again", within: .seconds(60)) {
                await client.status("GET", "/readyz") == 200
            }
        }
    }
}
