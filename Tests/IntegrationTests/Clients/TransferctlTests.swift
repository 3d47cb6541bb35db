import ChildProcess
import Foundation
import Glibc
import Postgres
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The command line, beside the built service.
@Suite(.timeLimit(.minutes(3))) struct TransferctlTests {
    @Test func getsFilesAndSaysWhatBecameOfThem() async throws {
        let stage = try await TransferctlStage()
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
        let all = try await stage.run(["events", "--type", "session.events_finished"])
        let lines = all.output.split(separator: "\n").map { $0.split(separator: "\t") }
        #expect(lines.map(\.first) == ["transferctl", "transferctl"])
        #expect(lines.allSatisfy { $0[2] == "session.events_finished" })
        #expect(try await stage.run(["wait", "absent"]).status == 2)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func continuesWithWhatAStoppedCommandLeft() async throws {
        let stage = try await TransferctlStage()
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
        #expect(await first.status() == 130)
        #expect(try stage.text("first-errors").contains("Continue: transferctl get"))
        gate.open()
        let second = try await stage.run(["get", "--output", stage.folder.path])
        #expect(second.status == 0)
        let file = try Data(contentsOf: URL(filePath: "\(stage.folder.path)/b.bin"))
        #expect([UInt8](file) == body.bytes)
        #expect(stage.origin.log.now.requests(at: "/b.bin").count == 1)
        let third = try await stage.run(["get", "--output", stage.folder.path])
        #expect(third.status == 0 && third.output.isEmpty)
        #expect(try stage.text("out-errors").contains("There is nothing to continue with."))
        #expect(await stage.service.terminate() == 0)
    }

    @Test func ofTwoAtOnceEachGetsItsOwn() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let gate = OriginGate()
        defer { gate.open() }
        let held = ["/a1", "/a2", "/a3"]
        for path in held { stage.origin.when(path, .gated(.text(path), after: 1, gate)) }
        stage.origin.when("/b1", .response(body: .text("b")))
        let folders = ["one", "two"].map { "\(stage.folder.path)/\($0)" }
        let first = try stage.start(
            ["get", "--output", folders[0]] + held.map(stage.origin.url),
            output: "first"
        )
        for path in held { await stage.origin.log.arrived(1, at: path) }
        let second = try stage.start(
            ["get", "--output", folders[1], stage.origin.url("/b1")],
            output: "second"
        )
        try await eventually("the second has its file") {
            FileManager.default.fileExists(atPath: "\(folders[1])/b1")
        }
        gate.open()
        #expect(await first.status() == 0)
        #expect(await second.status() == 0)
        let files = try folders.map { try FileManager.default.contentsOfDirectory(atPath: $0) }
        #expect(files.map { $0.sorted() } == [["a1", "a2", "a3"], ["b1"]])
        #expect(await stage.service.terminate() == 0)
    }

    @Test func anUploadIsLeftToTheCommandThatWaitsForIt() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let gate = OriginGate()
        defer { gate.open() }
        stage.origin.when("/up", .gated(.text("done"), after: 1, gate))
        try stage.folder.write("x", to: "source")
        let put = try stage.start(
            ["put", "\(stage.folder.path)/source", stage.origin.url("/up")],
            output: "put"
        )
        await stage.origin.log.arrived(1, at: "/up")
        let other = TransferSession(
            configuration: .background(withIdentifier: "transferctl-put"),
            service: try stage.service.client(key: stage.directory.apiKey())
        )
        let found = try await other.reconnect()
        #expect(found.isEmpty)
        try await other.close()
        gate.open()
        #expect(await put.status() == 0)
        #expect(try stage.text("put") == "done")
        #expect(await stage.service.terminate() == 0)
    }

    @Test func printsTheWebhooksOfASession() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        stage.origin.when("/c.bin", .response(body: .text("c")))
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("transferctl")
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
        #expect(try await client.subscriptions().items.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func refusesSettingsThatNoRequestCanBeMadeWith() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        for variables in [
            ["TRANSFERD_URL": "http://127.0.0.1:65536"],
            ["TRANSFERD_API_KEY": "tdk_secret\rx"], ["TRANSFERD_API_KEY": "tdk_secret\nx"],
        ] {
            #expect(try await stage.run(["sessions"], adding: variables).status == 2)
            let errors = try stage.text("out-errors")
            #expect(errors.contains("misconfigured") && !errors.contains("secret"))
        }
        #expect(await stage.service.terminate() == 0)
    }

    @Test func doesNotListenOnAPortThatIsTaken() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let taken = try SilentListener()
        let listened = try await stage.run(["listen", "s", "--port", "\(taken.port)"])
        #expect(listened.status == 2)
        #expect(try stage.text("out-errors").contains("127.0.0.1:\(taken.port)"))
        let client = try stage.service.client(key: stage.directory.apiKey())
        #expect(try await client.subscriptions().items.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func printsTheEventsThatAreKeptAndEnds() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        let held = TaskRequest(target: .url(stage.origin.url("/absent")), autostart: false)
        try await client.submit([held, held], toSession: "s")
        let kept = try await client.events(ofSession: "s").items.count
        let aside = try await TestDatabase.connection(to: stage.directory.databaseURL)
        // The newest event of each log.
        _ = try await aside.execute(
            Query.expireEvents(
                where: """
                    last_sequence = (SELECT max(r.last_sequence) FROM event_run r
                        WHERE r.session_id = event_run.session_id)
                    """
            )
        )
        let most = try await stage.run(["events", "s"])
        #expect(most.status == 0 && most.output.split(separator: "\n").count == kept - 1)
        _ = try await aside.execute(Query.expireEvents(where: "true"))
        await aside.close()
        let none = try await stage.run(["events", "s"])
        #expect(none.status == 0 && none.output.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func givesFilesOfOneNameNamesOfTheirOwn() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        stage.origin.when("/1/d.txt", .response(body: .text("one")))
        stage.origin.when("/2/d.txt", .response(body: .text("two")))
        try stage.folder.write("old", to: "files/d.txt")
        let urls = ["/1/d.txt", "/2/d.txt"].map(stage.origin.url)
        try stage.folder.write("\(urls[0])\n\n \(urls[1])\r\n", to: "list")
        let got = try await stage.run(
            [
                "get", "--json", "--output", "\(stage.folder.path)/files", "--input",
                "\(stage.folder.path)/list",
            ]
        )
        #expect(got.status == 0)
        let places = try got.output.split(separator: "\n").map {
            try JSONDecoder().decode([String: String].self, from: Data($0.utf8))
        }
        #expect(Set(places.compactMap { $0["url"] }) == Set(urls))
        let texts = try ["d.txt", "d-1.txt", "d-2.txt"].map { try stage.text("files/\($0)") }
        #expect(texts[0] == "old" && Set(texts[1...]) == ["one", "two"])
        #expect(await stage.service.terminate() == 0)
    }

    @Test func leavesAResultWithTheServiceUntilItsOwnFileIsDurable() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let library = try await PreloadedLibrary("directory")
        stage.origin.when("/g.bin", .response(body: .text("g")))
        let failed = try await stage.run(
            ["get", stage.origin.url("/g.bin"), "--output", stage.folder.path],
            adding: ["LD_PRELOAD": library.path]
        )
        #expect(failed.status == 1)
        #expect(try stage.text("out-errors").contains("file_failure"))
        let again = try await stage.run(["get", "--output", "\(stage.folder.path)/again"])
        #expect(again.status == 0)
        #expect(try stage.text("again/g.bin") == "g")
        #expect(try await stage.run(["tasks", "transferctl", "--json"]).output.isEmpty)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func uploadsListsShowsAndControls() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        stage.origin.when("/up") { request in
            .response(201, body: .text("\(request.method) \(request.body.count)"))
        }
        try stage.folder.write(String(repeating: "x", count: 1000), to: "source")
        let put = try await stage.run(
            ["put", "\(stage.folder.path)/source", stage.origin.url("/up"), "--method", "POST"]
        )
        #expect(put.status == 0 && put.output == "POST 1000")
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        let held = TaskRequest(target: .url(stage.origin.url("/absent")), autostart: false)
        try await client.submit([held], toSession: "s")
        let tasks = try await stage.run(["tasks", "s", "--json"])
        let id = try JSONDecoder().decode(TaskDocument.self, from: Data(tasks.output.utf8)).id
        #expect(try await stage.run(["resume", id]).output.hasPrefix(id))
        let attached = try await stage.run(["attach", "s"])
        #expect(attached.status == 1)
        #expect(attached.output == "0 completed, 1 failed, 0 cancelled\n")
        let shown = try await stage.run(["task", id]).output
        #expect(shown.contains("ATTEMPT") && shown.contains("404") && shown.contains("failed"))
        #expect(try await stage.run(["cancel", id, "absent"]).status == 2)
        let retried = try await stage.run(["retry", "--session", "s", "--json"])
        let operation = try JSONDecoder().decode(
            BulkOperationDocument.self,
            from: Data(retried.output.utf8)
        )
        #expect(operation.verb == "retry" && operation.tasksMatching == 1)
        let sessions = try await stage.run(["sessions"]).output.split(separator: "\n")
        #expect(sessions.count == 3 && sessions[0].hasPrefix("SESSION"))
        for list in ["hosts", "subscriptions"] {
            #expect(try await stage.run([list]).status == 0)
        }
        let contexts = ["contexts", "add", "here", "http://127.0.0.1"]
        // Without a key on its input.
        #expect(try await stage.run(contexts).status == 2)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func showsProgressOnATerminalAndLeavesTransfersAtCtrlC() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        let gate = OriginGate()
        let body = OriginBody.random(seed: 3, size: 200_000)
        stage.origin.when("/e.bin", .gated(body, after: 100_000, gate))
        let get = ["get", stage.origin.url("/e.bin"), "--output", stage.folder.path]
        let first = try stage.terminal(get, output: "first")
        try await eventually("there is a bar") {
            try stage.text("first").contains("97.7 KiB/195.3 KiB")
        }
        try first.press("\u{3}")
        #expect(await first.process.status() == 130)
        let told = try stage.text("first")
        #expect(told.contains("Continue: transferctl get --session transferctl"))
        #expect(told.contains("\u{1b}[J"))
        gate.open()
        let second = try stage.terminal(["get", "--output", stage.folder.path], output: "second")
        #expect(await second.process.status() == 0)
        #expect(try stage.text("second").contains("1 completed, 0 failed"))
        let file = try Data(contentsOf: URL(filePath: "\(stage.folder.path)/e.bin"))
        #expect([UInt8](file) == body.bytes)
        #expect(stage.origin.log.now.requests(at: "/e.bin").count == 1)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func cancelsAtASecondCtrlC() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        var round = 0
        // A second press that comes too late is none: the transfers go on.
        try await eventually("a second press is in time", within: .seconds(120)) {
            round += 1
            let session = "session-\(round)"
            try await interruptTwice(session, stage)
            guard try stage.text(session).contains("Cancelled.") else { return false }
            let listed = try await stage.run(["tasks", session, "--json"])
            let task = try JSONDecoder().decode(TaskDocument.self, from: Data(listed.output.utf8))
            #expect(task.state == "cancelled")
            return true
        }
        #expect(await stage.service.terminate() == 0)
    }

    /// Presses Ctrl-C twice while a command waits for a file of its own.
    ///
    /// What it says is in the file with the name of its session.
    private func interruptTwice(_ session: String, _ stage: TransferctlStage) async throws {
        let gate = OriginGate()
        defer { gate.open() }
        let path = "/\(session)/f.bin"
        stage.origin.when(path, .gated(.random(seed: 4, size: 5000), after: 10, gate))
        let get = ["get", stage.origin.url(path), "--output", stage.folder.path]
        let command = try stage.terminal(get + ["--session", session], output: session)
        await stage.origin.log.arrived(1, at: path)
        try command.press("\u{3}")
        try await eventually("it asks") { try stage.text(session).contains("Ctrl-C again") }
        try command.press("\u{3}")
        #expect(await command.process.status() == 130)
    }
}
