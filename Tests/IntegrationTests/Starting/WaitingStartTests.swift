import ArgumentParser
import ChildProcess
import Foundation
import Glibc
import Logging
import Postgres
import Testing
import TransferStore
import TransferTestSupport
import TransferWire

@testable import transferd

/// A service that starts before its database does.
@Suite(.timeLimit(.minutes(5)), .serialized) struct WaitingStartTests {
    /// A service that has not started yet, and prints nothing.
    private struct Waiting {
        let process: ChildProcess
        let probe: HTTPClient
        let port: Int
        let log: String
        private let held: HeldPort
        private let directory: DataDirectory

        /// The file of the secrets key, which all instances of a database share.
        let keyFile: String

        /// Starts an instance with the key in `otherKeyFile`, or with a new one.
        init(for url: String, key otherKeyFile: String? = nil) throws {
            directory = try DataDirectory()
            // With an external database, nobody makes this directory.
            try FileManager.default.createDirectory(
                atPath: directory.path,
                withIntermediateDirectories: true
            )
            log = try directory.log()
            keyFile = otherKeyFile ?? "\(directory.path)/secrets-key"
            if otherKeyFile == nil {
                try SecretFile(path: keyFile).create(String(repeating: "c3", count: 32))
            }
            held = try HeldPort()
            port = Int(held.number)
            process = try Program.start(
                [
                    "serve", "--port", "\(port)", "--database-url", url, "--secrets-key-file",
                    keyFile,
                ] + directory.options,
                log: log
            )
            probe = HTTPClient(port: port, key: "none")
        }

        func logged() throws -> String { try String(contentsOfFile: log, encoding: .utf8) }

        func reason() async throws -> String {
            try await probe.get("/readyz", as: ProbeDocument.self).reason ?? ""
        }
    }

    @Test func waitsForADatabaseThatIsAwayAndSaysWhy() async throws {
        let directory = try DataDirectory()
        let waiting = try Waiting(for: directory.databaseURL)
        try await eventually("it says that the database is away") {
            (try? await waiting.reason().hasPrefix("database away: ")) == true
        }
        #expect(await waiting.probe.status("GET", "/readyz") == 503)
        #expect(try await waiting.reason().contains("No such file or directory"))
        #expect(await waiting.probe.status("GET", "/livez") == 200)
        let health = try await waiting.probe.get("/health", as: HealthDocument.self)
        #expect(health.status == "fail")
        #expect(health.database.reason?.contains("No such file or directory") == true)
        let early = try await waiting.probe.send("GET", "/v1/sessions")
        #expect(early.status == 503)
        #expect(String(decoding: early.body, as: UTF8.self).contains("has not started yet"))
        #expect(try waiting.logged().split(separator: "waits for the database").count == 2)

        let other = try await ServiceProcess(
            in: directory,
            ["--secrets-key-file", waiting.keyFile]
        )
        let line = try #require(await waiting.process.line())
        let said = try JSONDecoder().decode(ServiceProcess.Announcement.self, from: line)
        #expect(said.port == waiting.port)
        try await eventually("it is ready") {
            await waiting.probe.status("GET", "/readyz") == 200
        }
        let client = try HTTPClient(port: waiting.port, key: directory.apiKey())
        #expect(await client.status("GET", "/v1/sessions") == 200)
        waiting.process.signal(SIGTERM)
        #expect(await waiting.process.status() == 0)
        #expect(await other.terminate() == 0)
    }

    @Test func whatTheServerRefusesIsWaitedOutToo() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let url = "host=\(directory.path)/run user=later dbname=postgres password=verysecret"
        let waiting = try Waiting(for: url, key: "\(directory.path)/secrets-key")
        try await eventually("it says what the server says") {
            (try? await waiting.reason()) == #"database away: role "…" does not exist"#
        }
        let doctor = try Program.start(
            ["doctor", "--database-url", url] + directory.options,
            log: "/dev/null"
        )
        var told = ""
        while let line = await doctor.line() { told += String(decoding: line, as: UTF8.self) }
        #expect(await doctor.status() != 0)
        #expect(told.contains(#"role "later" does not exist"#))
        #expect(try waiting.logged().contains("later"))

        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        try await aside.executeScript("CREATE ROLE later SUPERUSER LOGIN")
        #expect(await waiting.process.line() != nil, "it has started")
        #expect(try !(waiting.logged() + told).contains("verysecret"))
        waiting.process.signal(SIGTERM)
        #expect(await waiting.process.status() == 0)
        await aside.close()
        #expect(await service.terminate() == 0)
    }

    @Test func aSchemaThatNobodyHasMadeYetIsWaitedFor() {
        #expect(StartPatience.isTransient(MigratorError.schemaMissing(searchPath: "later")))
    }

    @Test func aServerThatDoesNotStartAgainIsToldOfOnce() {
        var revival = Revival()
        let start = ContinuousClock.now
        #expect(revival.isDue(at: start))
        let failures: [String?] = ["away", "away", "full", nil, "full"]
        let told = failures.map { revival.end($0, at: start) }
        #expect(told == [true, false, true, false, true])
        revival.answered()
        #expect(!revival.isDue(at: start + .seconds(4)))
        #expect(revival.isDue(at: start + .seconds(5)))
        let isToldAgain = revival.end("full", at: start)
        #expect(isToldAgain)
    }

    @Test func aPrivateServerThatIsKilledDuringTheStartIsStartedAgain() async throws {
        let directory = try DataDirectory()
        var reader = SettingsReader(environment: [:])
        let location = DatabaseLocation(try DatabaseOptions.parse(directory.options), &reader)
        let logger = Logger(label: "start") { _ in SwiftLogNoOpLogHandler() }
        let server = try await DatabaseServer.open(location, logger: logger)
        let process = try #require(directory.databaseServer)
        kill(process, SIGKILL)
        try await directory.serverEnds(process)
        let patience = StartPatience(monitor: HealthMonitor(), logger: logger, server: server)
        try await patience.outwait {
            try await server.withConnection { _ = try await $0.execute("SELECT 1") }
        }
        #expect(directory.databaseServer != process)
        await server.close()
    }

    @Test func endsInOrderWhileItWaits() async throws {
        let directory = try DataDirectory()
        let waiting = try Waiting(for: directory.databaseURL)
        try await eventually("it waits") {
            (try? await waiting.reason().hasPrefix("database away: ")) == true
        }
        waiting.process.signal(SIGTERM)
        #expect(await waiting.process.status() == 0)
    }

    @Test(arguments: ["postgres://u:verysecret@[::1", "host=a verysecret", "nonsense"])
    func aURLThatLeadsNowhereIsNotWaitedFor(url: String) async throws {
        let waiting = try Waiting(for: url)
        #expect(await waiting.process.status() != 0)
        #expect(try waiting.logged().contains("DATABASE_URL"))
        #expect(try !waiting.logged().contains("verysecret"))
    }
}
