import CLinux
import ChildProcess
import Foundation
import Glibc
import Postgres
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

@testable import transferd

/// A service that is asked to end while others hold it up.
@Suite(.timeLimit(.minutes(5)), .serialized) struct ShutdownTests {
    /// A little more than the grace period, after which the system would end the process by force.
    private static let graceMax: Duration = .seconds(17)
    /// The same while the database hangs, when the whole grace passes: less than the 35 s after
    /// which the process gives up its queries.
    private static let graceMaxWithoutDatabase: Duration = .seconds(28)

    /// Ends the service by SIGTERM.
    ///
    /// - Returns: the exit status, and the time that the end took.
    private func terminate(_ service: ServiceProcess) async -> (status: Int32, took: Duration) {
        let start = ContinuousClock.now
        let status = await service.terminate()
        return (status, .now - start)
    }

    @Test func slowPeersHoldItUpNoLongerThanTheGrace() async throws {
        let directory = try DataDirectory()
        let witness = try await ServiceProcess(in: directory, ["--roles", "api"])
        let service = try await ServiceProcess(in: directory)
        let client = try witness.client(key: directory.apiKey())
        try await eventually("the worker is registered") {
            try await client.health().workers == 1
        }
        try await client.makeSession("s")
        let peers = try SlowPeers(
            480,
            port: service.announcement.port,
            key: directory.apiKey()
        )
        let (status, took) = await terminate(service)
        #expect(status == 0)
        #expect(took < Self.graceMax)
        // Nobody else would remove the registration: the witness looks for no dead workers.
        let database = try await TestDatabase.connection(to: directory.databaseURL)
        let rows = try await database.execute("SELECT count(*) AS workers FROM worker")
        #expect(try rows[0].decode("workers", as: Int.self) == 0)
        await database.close()
        withExtendedLifetime(peers) {}
        #expect(await witness.terminate() == 0)
    }

    @Test func aDatabaseThatHangsHoldsItUpNoLongerThanTheGrace() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let http = try HTTPClient(service, key: directory.apiKey())
        try await eventually("it is ready") { await http.status("GET", "/readyz") == 200 }
        let stopped = directory.databaseProcesses
        #expect(stopped.count > 1)
        for process in stopped { kill(process, SIGSTOP) }
        let (status, took) = await terminate(service)
        #expect(status == 0)
        #expect(took < Self.graceMaxWithoutDatabase)
        for process in stopped { kill(process, SIGCONT) }
    }

    /// As timeout(1) makes them, which signals its child and then its group.
    @Test func signalsThatComeTogetherAreOneRequest() async throws {
        let directory = try DataDirectory()
        let witness = try await ServiceProcess(in: directory, ["--roles", "api"])
        let service = try await ServiceProcess(in: directory)
        let client = try witness.client(key: directory.apiKey())
        try await eventually("the worker is registered") {
            try await client.health().workers == 1
        }
        // Two of the same kind may become one on the way.
        for signal in [SIGTERM, SIGINT, SIGTERM] { service.signal(signal) }
        #expect(await service.status() == 0)
        let database = try await TestDatabase.connection(to: directory.databaseURL)
        let rows = try await database.execute("SELECT count(*) AS workers FROM worker")
        #expect(try rows[0].decode("workers", as: Int.self) == 0)
        await database.close()
        #expect(await witness.terminate() == 0)
    }

    /// As a terminal that is closed sends it, and whoever wants a certificate to be read.
    @Test func aHangupEndsNothing() async throws {
        let directory = try DataDirectory()
        let log = try directory.log()
        let service = try await ServiceProcess(in: directory, log: log)
        let http = try HTTPClient(service, key: directory.apiKey())
        try await eventually("it is ready") { await http.status("GET", "/readyz") == 200 }
        service.signal(SIGHUP)
        try await eventually("it is logged") {
            try String(contentsOfFile: log, encoding: .utf8).contains("SIGHUP")
        }
        #expect(await http.status("GET", "/readyz") == 200)
        #expect(await service.terminate() == 0)
    }

    @Test func aHangupInTheFirstMomentsEndsNothing() async throws {
        let library = try await PreloadedLibrary("early_signal")
        let service = try await ServiceProcess(
            in: DataDirectory(),
            environment: ["LD_PRELOAD": library.path, "EARLY_SIGNAL": "\(SIGHUP)"]
        )
        #expect(await service.terminate() == 0)
    }

    /// To process 1 of a container it would be lost there.
    @Test func aStopInTheFirstMomentsIsHeard() async throws {
        let directory = try DataDirectory()
        let library = try await PreloadedLibrary("early_signal")
        let service = try Program.start(
            ["serve", "--port", "0"] + directory.options,
            log: directory.log(),
            adding: ["LD_PRELOAD": library.path, "EARLY_SIGNAL": "\(SIGTERM)"]
        )
        #expect(await service.status() == 0)
        withExtendedLifetime((directory, library)) {}
    }

    /// As at the limit of processes of its container, which others in it may use up.
    @Test func itHearsThatItIsToStopWithoutAnotherThread() async throws {
        let directory = try DataDirectory()
        let library = try await PreloadedLibrary("no_threads")
        let word = library.file("none")
        // So that the service need not stop the database, which takes a program.
        let witness = try await ServiceProcess(in: directory, ["--roles", "api"])
        let service = try await ServiceProcess(
            in: directory,
            environment: ["LD_PRELOAD": library.path, "NO_THREADS": word]
        )
        let probe = HTTPClient(service, key: "none")
        try await eventually("it is ready") { await probe.status("GET", "/readyz") == 200 }
        #expect(FileManager.default.createFile(atPath: word, contents: nil))
        service.signal(SIGTERM)
        try await eventually("it stops") { await probe.status("GET", "/readyz") != 200 }
        try FileManager.default.removeItem(atPath: word)
        #expect(await service.status() == 0)
        #expect(await witness.terminate() == 0)
    }

    @Test func theSecondSignalEndsItAtOnce() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, ["--roles", "worker"])
        let probe = HTTPClient(service, key: "none")
        try await eventually("it is ready") { await probe.status("GET", "/readyz") == 200 }
        let stopped = directory.databaseProcesses
        for process in stopped { kill(process, SIGSTOP) }
        service.signal(SIGTERM)
        try await eventually("it stops") {
            try await probe.get("/readyz", as: ProbeDocument.self).reason == "shutting down"
        }
        // Until then, it belongs to the first one's request.
        let start = ContinuousClock.now
        try await eventually("half a second has passed") {
            ContinuousClock.now - start > .milliseconds(600)
        }
        service.signal(SIGTERM)
        #expect(await service.status() == 128 + SIGTERM)
        for process in stopped { kill(process, SIGCONT) }
    }

    /// As after a failure, where nothing else wakes the thread that waits for signals.
    @Test func theDeadlineHoldsWithoutASignal() async throws {
        await #expect(processExitsWith: .exitCode(7)) {
            clinux_hear_signals()
            let shutdown = try Shutdown(grace: .seconds(1), onRequest: {}, onHangup: {})
            try await eventually("signals are awaited") { try signalsAreAwaited() }
            shutdown.begin(status: 7)
            try await eventually("the process ends") { false }
        }
    }
}

/// Returns whether the thread for signals waits for them.
private func signalsAreAwaited() throws -> Bool {
    let threads = "/proc/self/task"
    return try FileManager.default.contentsOfDirectory(atPath: threads).contains { thread in
        // Its name and its state, which is that it sleeps (proc_pid_stat(5)).
        let text = try? String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8)
        return text?.contains("(shutdown) S") == true
    }
}

/// Connections whose requests never end.
private final class SlowPeers: Sendable {
    private let descriptors: [Int32]

    /// Opens the connections: every other one is still sending its header, the others the body of a
    /// submission.
    init(_ count: Int, port: Int, key: String) throws {
        let head = "POST /v1/sessions/s/tasks HTTP/1.1\r\nHost: a\r\n"
        let body =
            "Authorization: Bearer \(key)\r\nContent-Type: application/json\r\n"
            + "Content-Length: 1000\r\n\r\n[{"
        descriptors = try (0..<count).map { number in
            let descriptor = try HTTPClient.connect(port)
            let text = Array((number % 2 == 0 ? head : head + body).utf8)
            #expect(send(descriptor, text, text.count, Int32(MSG_NOSIGNAL)) == text.count)
            return descriptor
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
