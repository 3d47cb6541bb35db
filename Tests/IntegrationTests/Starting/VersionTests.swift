import ChildProcess
import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Two releases on one database.
@Suite(.timeLimit(.minutes(5)), .serialized) struct VersionTests {
    /// This release with one more migration, which makes it another version.
    private final class NextRelease: Sendable {
        let version: Int
        /// The options that make the program act as this release.
        let options: [String]
        private let folder: TestFolder

        /// Makes the release; its migration says that this release may run beside it if it
        /// `isAdditive`.
        init(isAdditive: Bool) throws {
            folder = try TestFolder("release")
            options = ["--resources", folder.path]
            let files = FileManager.default
            let migrations = Checkout.migrations
            let names = try files.contentsOfDirectory(atPath: migrations)
            for name in names {
                let text = try String(contentsOfFile: "\(migrations)/\(name)", encoding: .utf8)
                try folder.write(text, to: "migrations/\(name)")
            }
            let document = "\(Checkout.root)/openapi.yaml"
            try folder.write(String(contentsOfFile: document, encoding: .utf8), to: "openapi.yaml")
            try files.createSymbolicLink(
                atPath: "\(folder.path)/page",
                withDestinationPath: Checkout.page
            )
            let known = names.count { $0.hasSuffix(".up.sql") }
            version = known + 1
            let name = "migrations/" + String(format: "%04d_novelty", version)
            let floor = isAdditive ? "-- runs beside: " + String(format: "%04d\n", known) : ""
            try folder.write(
                floor + "ALTER TABLE task ADD COLUMN novelty text; CREATE TABLE novelty ();",
                to: "\(name).up.sql"
            )
            try folder.write(
                "DROP TABLE novelty; ALTER TABLE task DROP COLUMN novelty;",
                to: "\(name).down.sql"
            )
        }
    }

    @Test func neighboursRunBesideEachOtherUnderKills() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 300_000)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        let next = try NextRelease(isAdditive: true)
        // The first one is the older one, and stays so.
        let options = [[], next.options]
        var services = [try await ServiceProcess(in: directory)]
        let key = try directory.apiKey()
        try await services[0].client(key: key).makeSession("s")
        services.append(try await ServiceProcess(in: directory, options[1]))
        var ids: [String] = []
        for round in 0..<4 {
            let victim = round % 2
            for service in services {
                ids += try await service.client(key: key).submit(
                    Array(repeating: origin.url("/file"), count: 20),
                    to: "s"
                )
            }
            _ = await services[victim].killNow()
            services[victim] = try await ServiceProcess(in: directory, options[victim])
        }
        for service in services {
            let client = service.client(key: key)
            for id in ids {
                try await eventually("the task is completed", within: .seconds(60)) {
                    try await client.task(id).state == "completed"
                }
            }
        }
        try await eventually("what was abandoned is gone", within: .seconds(60)) {
            try directory.holdsOnlyResults(ids)
        }
        let events = try await services[0].client(key: key).events(of: "s")
        #expect(events.count { $0.type == "task.completed" } == ids.count)
        for service in services { #expect(await service.terminate() == 0) }
    }

    @Test func aChangeWaitsForTheWorkersThatItWouldBreak() async throws {
        let directory = try DataDirectory()
        let older = try await ServiceProcess(in: directory)
        let http = try HTTPClient(older, key: directory.apiKey())
        try await eventually("it is ready") { await http.status("GET", "/readyz") == 200 }
        let next = try NextRelease(isAdditive: false)
        #expect(try await Program.run(["migrate"] + directory.options + next.options).status != 0)
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let port = Int(held.number)
        let newer = try Program.start(
            ["serve", "--port", "\(port)"] + directory.options + next.options,
            log: try directory.log()
        )
        let probe = HTTPClient(port: port, key: "none")
        try await eventually("it says for whom it waits") {
            let answer = try? await probe.get("/readyz", as: ProbeDocument.self)
            return answer?.reason?.contains(":\(older.pid) (\(next.version - 1))") == true
        }
        #expect(await probe.status("GET", "/livez") == 200)
        #expect(await http.status("GET", "/v1/sessions") == 200)
        #expect(await older.terminate() == 0)
        #expect(await newer.line() != nil, "it has started")
        try await refusesToStart(in: directory, beside: next)
        newer.signal(SIGTERM)
        #expect(await newer.status() == 0)
    }

    @Test func anInstanceThatTheSchemaHasLeftEndsInOrder() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"])
        let older = try await ServiceProcess(in: directory, log: log)
        let next = try NextRelease(isAdditive: false)
        let forced = try await Program.run(
            ["migrate", "--force"] + directory.options + next.options
        )
        #expect(forced.status == 0)
        #expect(await older.status() == EXIT_FAILURE)
        // The instance that does not register notices as well.
        #expect(await front.status() == EXIT_FAILURE)
        let said = try String(contentsOfFile: log, encoding: .utf8)
        #expect(said.contains("to a schema that takes version \(next.version)"))
        try await refusesToStart(in: directory, beside: next)
    }

    private func refusesToStart(in directory: DataDirectory, beside next: NextRelease) async throws
    {
        await #expect {
            _ = try await ServiceProcess(in: directory)
        } throws: {
            "\($0)".contains("_novelty, which this release does not know: start the newer release")
        }
    }
}
