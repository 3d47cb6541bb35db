import ChildProcess
import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// A tenant for tests, as an operator makes it and as tests of its clients use it.
@Suite(.timeLimit(.minutes(3))) struct TestHookTests {
    private static let body = OriginBody.random(seed: 74, size: 1000)

    /// A running service with a tenant for tests.
    private struct Stage {
        let directory: DataDirectory
        let process: ServiceProcess
        let origin: LoopbackOrigin
        /// A key of the tenant for tests.
        let key: String

        init() async throws {
            directory = try DataDirectory()
            process = try await ServiceProcess(in: directory)
            origin = try LoopbackOrigin()
            origin.when("/file", .response(body: TestHookTests.body))
            let made = try await directory.run("tenants", "create", "checks", "--for-tests")
            #expect(made.status == 0)
            let keys = try await directory.run("keys", "create", "--tenant", "checks")
            key = try #require(keys.lines.first?.first)
        }

        func end() async {
            origin.stop()
            #expect(await process.terminate() == 0)
        }
    }

    /// The wait would last for half a day at least.
    @Test func aTestSeesAFailureARetryAndAnExpiry() async throws {
        let stage = try await Stage()
        let service = stage.process.client(key: stage.key)
        let receiver = try WebhookReceiver()
        #expect(try await service.tenant().isForTests)
        try await service.makeSession("s")
        _ = try await service.subscribe(
            SubscriptionRequest(
                url: receiver.open(),
                eventTypes: ["task.waiting", "task.completed"]
            )
        )
        let day = JSONValue.integer(86_400)
        let request = TaskRequest(
            target: .url(stage.origin.url("/file")),
            autostart: false,
            options: OptionMembers(["retry": .object(["delay_base": day, "delay_max": day])])
        )
        let id = try await service.submit([request], toSession: "s")[0].id
        try await service.testHooks.failNextAttempt(
            ofTask: id,
            with: TestFailureRequest(code: "http_status", httpStatus: 503)
        )
        _ = try await service.control("resume", task: id)
        try await eventually("it waits for its retry") {
            try await service.task(id).state == "waiting_for_retry"
        }
        #expect(stage.origin.log.now.requests.isEmpty)
        try await service.testHooks.endWait(ofTask: id)
        #expect(try await service.finishedSession("s").taskCounts["completed"] == 1)
        #expect(stage.origin.log.now.requests(at: "/file").count == 1)
        let attempts = try await service.attempts(ofTask: id)
        #expect(attempts.map(\.outcome) == ["retried", "completed"])
        let told = try await receiver.messages(2).map {
            try JSONDecoder().decode(EventMessage.self, from: Data($0.body)).type
        }
        #expect(told == ["task.waiting", "task.completed"])

        #expect(try await service.bytes(ofTask: id) == Self.body.bytes)
        try await service.testHooks.expire(task: id)
        await #expect {
            _ = try await service.bytes(ofTask: id)
        } throws: {
            ($0 as? TransferError)?.code == .problem(.taskExpired)
        }
        #expect(try stage.directory.files().isEmpty)
        let events = try await service.events(of: "s").map(\.type)
        #expect(events.last == "session.events_finished")
        await stage.end()
    }

    @Test func otherTenantsHaveNoHooks() async throws {
        let stage = try await Stage()
        let service = stage.process.client(key: try stage.directory.apiKey())
        #expect(try await !service.tenant().isForTests)
        try await service.makeSession("s")
        let id = try await service.submit([stage.origin.url("/file")], to: "s")[0]
        await #expect {
            try await service.testHooks.endWait(ofTask: id)
        } throws: {
            ($0 as? TransferError)?.code == .problem(.unknownRoute)
        }
        // No command makes of a tenant what it is not.
        for arguments in [["default", "--for-tests"], ["checks"]] {
            let again = try await stage.directory.run(["tenants", "create"] + arguments)
            #expect(again.status != 0)
        }
        let listed = try await stage.directory.run("tenants", "list").lines
        #expect(listed.map { Array($0[3...]) } == [["checks", "for tests"], ["default"]])
        let entries = try await stage.directory.run("audit", "list").lines
        #expect(entries.contains { $0[0].contains("transferd tenants create") })
        await stage.end()
    }

    @Test func theGuideShowsWhatHappens() async throws {
        let stage = try await Stage()
        let script = try GuideBlocks.all(
            "sh",
            replacing: ["http://127.0.0.1:9000/LICENSE": stage.origin.url("/file")]
        )
        let address = "http://127.0.0.1:\(stage.process.announcement.port)"
        let shell = try ChildProcess(
            "bash",
            ["-c", try #require(script.last)],
            environment: Program.environment.merging(
                ["TRANSFERD_URL": address, "TRANSFERD_API_KEY": stage.key]
            ) { $1 },
            output: .piped,
            errors: .discarded
        )
        var output = ""
        while let text = await shell.line() { output += String(decoding: text, as: UTF8.self) }
        #expect(await shell.status() == 0)
        let lines = output.split(separator: "\n")
        try #require(lines.count == 8, "\(output)")
        let tasks = try lines[1..<7].map {
            try JSONDecoder().decode(TaskDocument.self, from: Data($0.utf8))
        }
        #expect(tasks[0].state == "scheduled")
        #expect(tasks[2].state == "failed")
        #expect(tasks[2].error?.httpStatus == 404)
        #expect(tasks[3].state == "scheduled")
        #expect(tasks[5].state == "completed")
        let problem = try JSONDecoder().decode(ProblemDetails.self, from: Data(lines[7].utf8))
        #expect(problem.code == .taskExpired)
        #expect(stage.origin.log.now.requests(at: "/file").count == 1)
        await stage.end()
    }
}
