import ChildProcess
import Foundation
import Glibc
import Testing
import TransferTestSupport
import TransferWire

/// The command line, beside the built service.
@Suite(.timeLimit(.minutes(3))) struct TransferctlTests {
    /// A service, and commands that use it.
    private struct Stage {
        let directory: DataDirectory
        let service: ServiceProcess
        let origin: LoopbackOrigin
        let folder: TestFolder

        init() async throws {
            directory = try DataDirectory()
            service = try await ServiceProcess(in: directory)
            origin = try LoopbackOrigin()
            folder = try TestFolder("transferctl")
        }

        func start(_ arguments: [String], output: String) throws -> ChildProcess {
            let program = URL(filePath: Program.path).deletingLastPathComponent()
                .appending(path: "transferctl").path
            return try ChildProcess(
                program,
                arguments,
                environment: Program.environment.merging([
                    "TRANSFERD_URL": "http://127.0.0.1:\(service.announcement.port)",
                    "TRANSFERD_API_KEY": try directory.apiKey(),
                ]) { $1 },
                output: .overwriting("\(folder.path)/\(output)"),
                errors: .overwriting("\(folder.path)/\(output)-errors")
            )
        }

        func text(_ name: String) throws -> String {
            try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
        }

        func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
            let status = await (try start(arguments, output: "out")).status()
            return (status, try text("out"))
        }
    }

    @Test func getsFilesAndSaysWhatBecameOfThem() async throws {
        let stage = try await Stage()
        defer { stage.origin.stop() }
        let body = OriginBody.random(seed: 1, size: 300_000)
        stage.origin.when("/a.bin", .response(body: body))
        let got = try await stage.run(
            ["get", stage.origin.url("/a.bin"), "--output", "\(stage.folder.path)/new/one"]
        )
        #expect(got.status == 0 && got.output.hasSuffix("/a.bin\n"))
        let file = try Data(contentsOf: URL(filePath: "\(stage.folder.path)/new/one/a.bin"))
        #expect([UInt8](file) == body.bytes)
        let failed = try await stage.run(
            ["get", stage.origin.url("/absent"), "--output", stage.folder.path]
        )
        #expect(failed.status == 1)
        #expect(try stage.text("out-errors").contains("http_status"))

        let waited = try await stage.run(["wait", "transferctl"])
        #expect(waited.status == 1 && waited.output == "0 completed, 1 failed, 0 cancelled\n")
        let listed = try await stage.run(["tasks", "transferctl", "--state", "failed", "--json"])
        let task = try JSONDecoder().decode(TaskDocument.self, from: Data(listed.output.utf8))
        #expect(task.state == "failed" && task.url == stage.origin.url("/absent"))
        let told = try await stage.run(["events", "transferctl"])
        let types = told.output.split(separator: "\n").map { $0.split(separator: "\t")[2] }
        #expect(types.count { $0 == "session.events_finished" } == 2)
        #expect(types.last == "session.events_finished" && types.first == "task.created")
        #expect(try await stage.run(["wait", "absent"]).status == 1)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func continuesWithWhatAStoppedCommandLeft() async throws {
        let stage = try await Stage()
        defer { stage.origin.stop() }
        let gate = OriginGate()
        let body = OriginBody.random(seed: 2, size: 5000)
        stage.origin.when("/b.bin", .gated(body, after: 10, gate))
        let first = try stage.start(
            ["get", stage.origin.url("/b.bin"), "--output", stage.folder.path],
            output: "first"
        )
        await stage.origin.log.arrived(1, at: "/b.bin")
        first.signal(SIGINT)
        _ = await first.status()
        gate.open()
        let second = try await stage.run(["get", "--output", stage.folder.path])
        #expect(second.status == 0)
        let file = try Data(contentsOf: URL(filePath: "\(stage.folder.path)/b.bin"))
        #expect([UInt8](file) == body.bytes)
        #expect(stage.origin.log.now.requests(at: "/b.bin").count == 1)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func printsTheWebhooksOfASession() async throws {
        let stage = try await Stage()
        defer { stage.origin.stop() }
        stage.origin.when("/c.bin", .response(body: .text("c")))
        let client = try APIClient(stage.service, key: try stage.directory.apiKey())
        #expect(await client.status("PUT", "/v1/sessions/transferctl") == 201)
        let listener = try stage.start(["listen", "transferctl"], output: "hooks")
        try await eventually("it listens") { try stage.text("hooks-errors").contains("listening") }
        let got = try await stage.run(
            ["get", stage.origin.url("/c.bin"), "--output", stage.folder.path]
        )
        #expect(got.status == 0)
        try await eventually("the barrier has come") {
            try stage.text("hooks").contains("session.events_finished")
        }
        let events = try stage.text("hooks").split(separator: "\n").map {
            try JSONDecoder().decode(EventMessage.self, from: Data($0.utf8))
        }
        #expect(events.map(\.data.sequence) == Array(1...Int64(events.count)))
        listener.signal(SIGINT)
        #expect(await listener.status() == 0)
        let rest: Page<SubscriptionDocument> = try await client.get("/v1/subscriptions")
        #expect(rest.items.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }
}
