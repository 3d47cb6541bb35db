import ChildProcess
import Foundation
import Glibc
import Testing
import TransferClient
import TransferModel
import TransferTestSupport
import TransferWire

/// How commands end, and what they say then.
@Suite(.timeLimit(.minutes(3))) struct TransferctlEndTests {
    @Test func tellByTheirStatusWhoseFaultItIs() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let url = stage.origin.url("/absent")
        let output = ["--output", stage.folder.path]
        let put = try await stage.run(["put", "/nofile", url])
        #expect(put.status == 1)
        #expect(
            try stage.text("out-errors")
                == "Error: /nofile cannot be read: No such file or directory\n"
        )
        #expect(try await stage.run(["get", "notaurl"] + output).status == 2)
        #expect(try stage.text("out-errors").contains("validation_failed"))
        let checksum = ["get", url, "--checksum", "sha-256=00"]
        #expect(try await stage.run(checksum + output).status == 2)
        #expect(try await stage.run(["get", url] + output).status == 1)
        #expect(try await stage.run(["get", url, "notaurl"] + output).status == 2)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func sayThatTheServiceDoesNotSpeakTLS() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let url = "https://127.0.0.1:\(stage.service.announcement.port)"
        #expect(try await stage.run(["sessions"], adding: ["TRANSFERD_URL": url]).status == 2)
        #expect(
            try stage.text("out-errors") == """
                Error: unreachable: \(url): The service does not speak TLS there; its URL may \
                start with http://.\n
                """
        )
        #expect(await stage.service.terminate() == 0)
    }

    @Test func nameTheFileThatCannotBeUsed() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        #expect(try await stage.run(["get", "--input", "/nofile"]).status == 1)
        #expect(
            try stage.text("out-errors")
                == "Error: /nofile cannot be read: No such file or directory\n"
        )
        let url = stage.origin.url("/absent")
        #expect(try await stage.run(["get", url, "--output", "/proc/nope"]).status == 1)
        #expect(
            try stage.text("out-errors")
                == "Error: /proc/nope cannot be made: No such file or directory\n"
        )
        #expect(await stage.service.terminate() == 0)
    }

    @Test func sendWhatALinkLeadsToAndNothingButFiles() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        stage.origin.when("/up") { .response(201, body: .text("\($0.body.count)")) }
        let folder = stage.folder.path
        try stage.folder.write(String(repeating: "x", count: 1000), to: "source")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/link",
            withDestinationPath: "source"
        )
        let linked = try await stage.run(["put", "\(folder)/link", stage.origin.url("/up")])
        #expect(linked.status == 0 && linked.output == "1000")
        #expect(mkfifo("\(folder)/pipe", 0o600) == 0)
        for file in ["\(folder)/pipe", folder, "/dev/null"] {
            let put = ["put", file, stage.origin.url("/up"), "--session", "refused"]
            #expect(try await stage.run(put).status == 1)
            #expect(
                try stage.text("out-errors")
                    == "Error: \(file) cannot be read: Not a regular file\n"
            )
        }
        // Nothing was submitted.
        let client = try stage.service.client(key: stage.directory.apiKey())
        let error = await #expect(throws: TransferError.self) {
            try await client.session("refused")
        }
        #expect(error?.problem?.code == .unknownSession)
        #expect(await stage.service.terminate() == 0)
    }

    /// A file of /sys has fewer bytes than its size says, as one has that becomes shorter.
    @Test(
        .enabled("this system has no such file") {
            FileManager.default.isReadableFile(atPath: "/sys/kernel/uevent_seqnum")
        }
    )
    func leaveNoTaskToWaitForAFileThatHasBecomeShorter() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let file = "/sys/kernel/uevent_seqnum"
        #expect(try await stage.run(["put", file, stage.origin.url("/absent")]).status == 1)
        #expect(
            try stage.text("out-errors").contains(
                "Error: file_failure: \(file) cannot be read: It has become shorter\n"
            )
        )
        let listed = try await stage.run(["tasks", "transferctl-put", "--json"])
        let task = try JSONDecoder().decode(TaskDocument.self, from: Data(listed.output.utf8))
        #expect(task.state == "cancelled")
        #expect(await stage.service.terminate() == 0)
    }

    /// Lets the origin of a stage be a service whose session has no events, and returns the path.
    private static func serveSession(_ stage: TransferctlStage) -> String {
        let path = "/v1/sessions/transferctl"
        let document = #"""
            {"client": "default", "identifier": "transferctl", "id": "s", "kind": "background",
            "generation": 0, "configuration": {"header_names": [], "is_discretionary": false},
            "outstanding": 1, "completed": 0, "failed": 0, "cancelled": 0, "task_counts": {},
            "bytes_received": 0, "bytes_sent": 0, "last_event_sequence": 0, "is_finishing": false,
            "created_at": "2026-03-01T12:00:00Z"}
            """#
        stage.origin.when(path, .response(body: .text(document)))
        let stream = [(name: "Content-Type", value: "text/event-stream")]
        let silent = OriginScript.gated(.text(": "), after: 0, OriginGate(), headers: stream)
        stage.origin.when("\(path)/events", silent)
        return path
    }

    /// Otherwise they would wait for it for minutes, whatever key is pressed.
    @Test func endWithTheNextSignalWhenTheServiceDoesNotAnswer() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let session = Self.serveSession(stage)
        stage.origin.when("\(session)/reconnect", .response(body: .text(#"{"items": []}"#)))
        stage.origin.when("\(session)/tasks", OriginScript([.wait(OriginGate())]))
        let got = try stage.start(
            ["get", "http://example.com/", "--output", stage.folder.path],
            output: "got",
            adding: ["TRANSFERD_URL": stage.origin.url("")]
        )
        await stage.origin.log.arrived(1, at: "\(session)/tasks")
        got.signal(SIGINT)
        try await eventually("it detaches") {
            try stage.text("got-errors").contains("Continue: transferctl get")
        }
        let start = ContinuousClock.now
        got.signal(SIGTERM)
        #expect(await got.status() == 130)
        // Less than the time after which it would end by itself.
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(await stage.service.terminate() == 0)
    }

    /// A service that fails at the second page of a takeover gets those of the first back.
    @Test func giveBackWhatTheyHadTakenOver() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let session = Self.serveSession(stage)
        let problem = ProblemDetails(.validationFailed, detail: nil, requestID: "r")
        let refusal = OriginBody.bytes(try WireEncoder.encode(problem))
        stage.origin.when("\(session)/reconnect") { request in
            guard request.numberAtPath == 1 else { return .response(422, body: refusal) }
            let page = #"{"lease_token": "lease", "items": [], "next_cursor": "more"}"#
            return .response(body: .text(page))
        }
        stage.origin.when("/v1/leases/lease", OriginScript([.head(204)]))
        let got = try await stage.run(
            ["get", "--output", stage.folder.path],
            adding: ["TRANSFERD_URL": stage.origin.url("")]
        )
        #expect(got.status == 2)
        let returned = stage.origin.log.now.requests(at: "/v1/leases/lease")
        #expect(returned.map(\.method) == ["DELETE"])
        #expect(await stage.service.terminate() == 0)
    }

    /// The file is there: the next command would bring it again.
    @Test func removeTheTasksOfTheirFilesAlsoWhenTheyFail() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let session = Self.serveSession(stage)
        let task = #"""
            {"id": "7", "client": "default", "session_identifier": "transferctl",
            "kind": "download", "method": "GET", "state": "completed",
            "url_session_state": "completed", "url": "http://o/f", "client_persisted_string": "f",
            "priority": 0.5, "attempt": 1, "count_of_bytes_received": 3,
            "count_of_bytes_expected_to_receive": 3, "count_of_bytes_sent": 0,
            "count_of_bytes_expected_to_send": -1, "created_at": "2026-03-01T12:00:00Z"}
            """#
        let other = task.replacing(#""id": "7""#, with: #""id": "8""#)
            .replacing(#""completed""#, with: #""running""#)
        let page = #"{"lease_token": "lease", "items": [{"ok": \#(task)}, {"ok": \#(other)}]}"#
        stage.origin.when("\(session)/reconnect", .response(body: .text(page)))
        let content = [(name: "ETag", value: #""7-1""#)]
        stage.origin.when("/v1/tasks/7/content", .response(headers: content, body: .text("abc")))
        // The session ends for the command once the task could not be removed.
        let gate = OriginGate()
        let refusal = OriginScript.response(401, body: .text("no"))
        stage.origin.when("\(session)/events", OriginScript([.wait(gate)] + refusal.steps))
        stage.origin.when("/v1/tasks/7") { request in
            defer { gate.open() }
            return request.numberAtPath == 1 ? refusal : OriginScript([.head(204)])
        }
        stage.origin.when("/v1/leases/lease", OriginScript([.head(204)]))
        let got = try await stage.run(
            ["get", "--output", stage.folder.path],
            adding: ["TRANSFERD_URL": stage.origin.url("")]
        )
        #expect(got.status != 0)
        #expect(try stage.text("f") == "abc")
        let removals = stage.origin.log.now.requests(at: "/v1/tasks/7")
        #expect(removals.map(\.method) == ["DELETE", "DELETE"])
        #expect(await stage.service.terminate() == 0)
    }

    /// Of one that was killed while it sent its file, nobody would bring the rest.
    @Test func takeThePlaceOfTheSameUploadThatWasKilled() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        stage.origin.when("/up") { .response(201, body: .text("\($0.body.count)")) }
        let file = "\(stage.folder.path)/source"
        try stage.folder.write("abc", to: "source")
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("transferctl-put")
        func upload(of file: String) -> TaskRequest {
            TaskRequest(
                target: .url(stage.origin.url("/up")),
                clientPersistedString: file,
                kind: "upload",
                upload: UploadRequest(staged: true)
            )
        }
        let receipts = try await client.submit(
            [upload(of: file), upload(of: "other")],
            toSession: "transferctl-put"
        )
        let put = try await stage.run(["put", file, stage.origin.url("/up")])
        #expect(put.status == 0 && put.output == "3")
        #expect(try stage.text("out-errors").contains("transferctl tasks transferctl-put"))
        #expect(try await client.task(receipts[0].id).state == "cancelled")
        #expect(try await client.task(receipts[1].id).state == "suspended")
        #expect(await stage.service.terminate() == 0)
    }

    @Test func endWithoutAWordWhenNobodyReadsTheirOutput() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        let held = TaskRequest(target: .url(stage.origin.url("/absent")), autostart: false)
        try await client.submit([held], toSession: "s")
        for command in [["sessions"], ["events", "s"], ["contexts"]] {
            // 128 and the number of SIGPIPE.
            #expect(await (try stage.startUnread(command)).status() == 141, "\(command)")
            #expect(try stage.text("out-errors").isEmpty, "\(command)")
        }
        #expect(await stage.service.terminate() == 0)
    }

    @Test func unsubscribeWhenNobodyReadsTheWebhooks() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        let listener = try stage.startUnread(["listen", "s"])
        try await eventually("it listens") {
            try stage.text("out-errors").contains("listening")
        }
        let held = TaskRequest(target: .url(stage.origin.url("/absent")), autostart: false)
        try await client.submit([held], toSession: "s")
        #expect(await listener.status() == 141)
        #expect(try await client.subscriptions().items.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func printEventsOfFamiliesAndRefuseUnknownTypes() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        let task = TaskRequest(target: .url(stage.origin.url("/absent")))
        try await client.submit([task], toSession: "s")
        #expect(try await stage.run(["wait", "s"]).status == 1)
        let session = try await client.events(ofSession: "s", types: ["task.failed"])
        #expect(session.items.map(\.type) == ["task.failed"])
        let tenant = try await client.events(types: ["task.failed"])
        #expect(tenant.items.map(\.type) == ["task.failed"])
        let told = try await stage.run(["events", "s", "--type", "task.*"])
        let types = told.output.split(separator: "\n").map { $0.split(separator: "\t")[2] }
        #expect(told.status == 0 && types.contains("task.failed"))
        #expect(types.allSatisfy { $0.hasPrefix("task.") })
        for type in ["bogus", "bogus.*", "task.bogus", ""] {
            #expect(try await stage.run(["events", "s", "--type", type]).status == 64)
        }
        // Every type that the service has.
        let all = SessionEvent.Kind.allCases.flatMap { ["--type", $0.rawValue] }
        #expect(try await stage.run(["events", "s"] + all).status == 0)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func showATaskWithItsWordsApart() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        let task = TaskRequest(target: .url(stage.origin.url("/absent")))
        let receipts = try await client.submit([task], toSession: "s")
        let id = try #require(receipts.first?.id)
        #expect(try await stage.run(["wait", "s"]).status == 1)
        let shown = try await stage.run(["task", id])
        #expect(shown.status == 0 && shown.output.contains("\nkept until  2"), "\(shown.output)")
        #expect(await stage.service.terminate() == 0)
    }

    /// Otherwise what they print would go to one of their own files or sockets.
    @Test func writeNowhereWithoutStandardDescriptors() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        #expect(try await stage.runClosed(["sessions"]) == 0)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func haveTheVersionOfTheService() async throws {
        let folder = try TestFolder("version")
        let told = try ChildProcess(
            TransferctlStage.program,
            ["--version"],
            environment: Program.environment,
            output: .overwriting("\(folder.path)/version")
        )
        #expect(await told.status() == 0)
        let version = try String(contentsOfFile: "\(folder.path)/version", encoding: .utf8)
        let service = try await Program.run(["--version"])
        #expect(service.status == 0)
        #expect(
            service.output.trimmingCharacters(in: .newlines)
                == version.trimmingCharacters(in: .newlines)
        )
    }
}
