import ChildProcess
import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The program's output and files when it starts.
@Suite(.timeLimit(.minutes(5))) struct StartTests {
    @Test func saysWhereItListensAndKeepsItsKeyToItself() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        #expect(service.announcement.event == "listening")
        #expect(service.announcement.host == "127.0.0.1")
        #expect(service.announcement.port > 0)
        let attributes = try FileManager.default.attributesOfItem(
            atPath: "\(directory.path)/api-key"
        )
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let client = try HTTPClient(service, key: directory.apiKey())
        #expect(await client.status("GET", "/v1/sessions") == 200)
        #expect(
            await HTTPClient(service, key: "nonsense").status("GET", "/v1/sessions") == 401
        )

        // Run a command beside the running service.
        let made = try await Program.run(["keys", "create"] + directory.options)
        #expect(made.status == 0)
        let key = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(try key != directory.apiKey())
        let other = HTTPClient(service, key: key)
        #expect(await other.status("GET", "/v1/sessions") == 200)
        let limit = ["tenants", "limit", "--total-bytes-per-second-max"]
        #expect(try await Program.run(limit + ["100000"] + directory.options).status == 0)
        #expect(try await Program.run(limit + ["1"] + directory.options).status != 0)
        let tasks = ["tenants", "limit", "--outstanding-tasks-max"]
        #expect(try await Program.run(tasks + ["100000"] + directory.options).status == 0)
        #expect(try await Program.run(tasks + ["0"] + directory.options).status != 0)
        let running = ["tenants", "limit", "--running-tasks-max"]
        #expect(try await Program.run(running + ["none"] + directory.options).status == 0)
        #expect(try await Program.run(running + ["some"] + directory.options).status != 0)
        let nothing = ["tenants", "limit"]
        #expect(try await Program.run(nothing + directory.options).status != 0)
        let nobody = running + ["1", "--tenant", "nobody"]
        #expect(try await Program.run(nobody + directory.options).status != 0)
        #expect(await service.terminate() == 0)

        // The second start uses the key of the first.
        let again = try await ServiceProcess(in: directory)
        let sameKey = try HTTPClient(again, key: directory.apiKey())
        #expect(await sameKey.status("GET", "/v1/sessions") == 200)
        #expect(await again.terminate() == 0)
    }

    @Test func aLogThatNobodyReadsAnyMoreEndsNothing() async throws {
        let directory = try DataDirectory()
        let pipe = try directory.log()
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        #expect(reader >= 0)
        let service = try await ServiceProcess(in: directory, ["--log-level", "trace"], log: pipe)
        close(reader)
        let client = try HTTPClient(service, key: directory.apiKey())
        for _ in 0..<10 { #expect(await client.status("GET", "/v1/sessions") == 200) }
        // It logs its end, too.
        #expect(await service.terminate() == 0)
    }

    @Test func aLogWhoseReaderStallsHoldsNothingUp() async throws {
        let directory = try DataDirectory()
        let pipe = try FullPipe()
        defer { withExtendedLifetime(pipe) {} }
        let service = try await ServiceProcess(
            in: directory,
            ["--log-level", "debug"],
            log: "/proc/\(getpid())/fd/\(pipe.end)"
        )
        try await eventually("a line waits for its reader") { try FullPipe.holds(service.pid) }
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        #expect(try await client.submit(["http://127.0.0.1:9/"], to: "s").count == 1)
        let probe = HTTPClient(service, key: "none")
        for _ in 0..<10 { #expect(await probe.status("GET", "/livez") == 200) }
        let database = try #require(directory.databaseServer)
        #expect(await service.terminate() == 0)
        try await directory.serverEnds(database)
    }

    @Test func anAnnouncementWhoseReaderStallsHoldsNothingUp() async throws {
        let directory = try DataDirectory()
        let pipe = try FullPipe()
        defer { withExtendedLifetime(pipe) {} }
        let process = try ChildProcess(
            Program.path,
            ["serve", "--port", "0"] + directory.options,
            environment: Program.environment,
            output: .descriptor(pipe.end)
        )
        defer { process.kill() }
        try await eventually("the line waits for its reader", within: .seconds(60)) {
            try FullPipe.holds(process.pid)
        }
        let database = try #require(directory.databaseServer)
        process.signal(SIGTERM)
        #expect(await process.status() == 0)
        try await directory.serverEnds(database)
    }

    @Test func closedStandardDescriptorsLeadNowhere() async throws {
        let directory = try DataDirectory()
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", #"exec "$0" "$@" <&- >&- 2>&-"#, Program.path]
                + ["serve", "--port", "\(held.number)"] + directory.options,
            environment: Program.environment
        )
        defer { process.kill() }
        let probe = HTTPClient(port: Int(held.number), key: "none")
        try await eventually("it is ready") { await probe.status("GET", "/readyz") == 200 }
        for number in 0...2 {
            let file = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(process.pid)/fd/\(number)"
            )
            #expect(file == "/dev/null")
        }
        process.signal(SIGTERM)
        #expect(await process.status() == 0)
    }

    /// libpq would follow them to another server, to no service or to a schema that is not there.
    @Test func variablesOfLibpqDoNotLeadAwayFromThePrivateCluster() async throws {
        let service = try await ServiceProcess(
            in: DataDirectory(),
            environment: [
                "PGHOSTADDR": "127.0.0.1", "PGSERVICE": "absent",
                "PGOPTIONS": "-c search_path=nowhere",
            ]
        )
        let probe = HTTPClient(service, key: "none")
        try await eventually("it is ready") { await probe.status("GET", "/readyz") == 200 }
        #expect(await service.terminate() == 0)
    }

    /// Neither would ever run a task, or say why.
    @Test(arguments: [["serve", "--port", "0"], ["doctor"]])
    func aLimitOfDescriptorsThatIsTooLowIsRefused(command: [String]) async throws {
        let text = try await refusal(
            of: "descriptors",
            by: command,
            under: ["sh", "-c", #"ulimit -n 64 && exec "$0" "$@" 2>&1"#]
        )
        #expect(text.contains("64 descriptors are too few to run a task"))
        if command == ["doctor"] { #expect(text.contains("fails 64 descriptors")) }
    }

    /// SwiftNIO would end it with a trap.
    @Test(
        .enabled("a user without other processes takes root") { geteuid() == 0 },
        arguments: [(54_321, ["serve", "--port", "0"]), (54_322, ["doctor"])]
    )
    func aLimitOfThreadsThatIsTooLowIsRefused(user: Int, command: [String]) async throws {
        // The limit does not apply to root. For a user without a name, `doctor` fails anyway.
        let text = try await refusal(
            of: "threads",
            by: command,
            under: ["setpriv", "--reuid=\(user)", "--clear-groups", "sh", "-c"]
                + [#"exec prlimit --nproc=20 "$0" "$@" 2>&1"#]
        )
        #expect(text.contains("threads are too few for an instance"))
        if command == ["doctor"] { #expect(text.contains("warns ")) }
    }

    /// Runs a command under a limit that is too low for it, and returns what it says up to the line
    /// that names what there are too few of.
    private func refusal(
        of resource: String,
        by command: [String],
        under limit: [String]
    ) async throws -> String {
        let directory = try DataDirectory()
        let process = try ChildProcess(
            "/usr/bin/env",
            limit + [Program.path] + command + directory.options,
            environment: Program.environment,
            output: .piped
        )
        var text = ""
        while !text.contains(resource), let line = await process.line() {
            text += String(decoding: line, as: UTF8.self)
        }
        let isRefused = text.contains("\(resource) are too few")
        #expect(isRefused, "\(text)")
        if !isRefused { process.kill() }
        #expect(await process.status() == EXIT_FAILURE)
        return text
    }

    @Test func theLogNamesServicesAndNotWhatIsInThem() async throws {
        let directory = try DataDirectory()
        let path = try directory.log()
        let service = try await ServiceProcess(in: directory, ["--log-level", "debug"], log: path)
        #expect(await service.terminate() == 0)
        let log = try String(contentsOfFile: path, encoding: .utf8)
        #expect(log.contains("TransferEngine"))
        #expect(!log.contains("TransferEngine("))
        #expect(!log.contains("Stores(pool"))
    }

    /// Tests an assumption of these tests: the end of the directory is that of its database.
    @Test func aServiceHoldsItsDirectory() async throws {
        weak var directory: DataDirectory?
        let service: ServiceProcess
        do {
            let new = try DataDirectory()
            directory = new
            service = try await ServiceProcess(in: new)
        }
        #expect(directory != nil)
        #expect(await service.terminate() == 0)
    }

    @Test func transfersHaveAsManyThreadsAsWereAskedFor() async throws {
        let service = try await ServiceProcess(in: DataDirectory(), ["--transfer-threads", "5"])
        #expect(try service.threadNames().count { $0 == "transfers" } == 5)
        #expect(await service.terminate() == 0)
    }

    @Test func namesEveryWrongSettingAtOnce() async throws {
        let folder = try TestFolder("integration")
        let log = "\(folder.path)/log"
        let program = try Program.start(
            ["serve", "--port", "70000", "--allow-network", "nonsense"],
            log: log,
            adding: ["TRANSFERD_CONCURRENCY": "0", "TRANSFERD_ALLOW_NETWORKS": "10.0.0.0/99"]
        )
        #expect(await program.status() != 0)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        // Each by the name under which it was given.
        for name in [
            "--port: 70000", "TRANSFERD_CONCURRENCY: 0", "--allow-network: nonsense",
            "TRANSFERD_ALLOW_NETWORKS: 10.0.0.0/99",
        ] {
            #expect(text.contains(name))
        }
        withExtendedLifetime(folder) {}
    }
}
