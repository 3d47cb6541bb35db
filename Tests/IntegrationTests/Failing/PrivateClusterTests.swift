import ChildProcess
import Foundation
import Glibc
import Postgres
import Testing
import TransferTestSupport

/// Private clusters that processes of other containers, rights or paths come to.
@Suite(.timeLimit(.minutes(5)), .serialized) struct PrivateClusterTests {
    /// A place from which the number in the server's file, or its process, looks like a stranger's.
    enum Place: CaseIterable {
        /// Numbers of processes and shared memory of its own, as another container has them.
        case anotherContainer
        /// Root, without the right to look at processes of other users, as Docker starts it.
        case withoutTracing
        /// The same directory under another name.
        case anotherPath

        /// Returns the command that runs another one there, with a directory for another name.
        func prefix(_ directory: DataDirectory, _ folder: TestFolder) -> [String] {
            switch self {
            case .anotherContainer:
                [
                    "unshare", "--pid", "--ipc", "--mount", "--fork", "--mount-proc",
                    "--kill-child",
                ]
            case .withoutTracing:
                ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
            case .anotherPath:
                [
                    "unshare", "--mount", "sh", "-c",
                    #"mount --bind "$0" "$1" && shift && exec "$@""#, directory.path, folder.path,
                ]
            }
        }
    }

    /// Starts a program in a place; the test is cancelled where the system refuses the place.
    private func start(
        _ prefix: [String],
        _ arguments: [String],
        log: String
    ) async throws -> ChildProcess {
        let trial = try ChildProcess("/usr/bin/env", prefix + ["true"])
        guard await trial.status() == 0 else {
            try Test.cancel("this system refuses \(prefix.joined(separator: " "))")
        }
        return try ChildProcess(
            "/usr/bin/env",
            prefix + [Program.path] + arguments,
            environment: Program.environment,
            output: .piped,
            errors: .overwriting(log)
        )
    }

    /// Returns when the server that answers was started.
    private func serverStart(_ directory: DataDirectory) async throws -> String {
        let aside = try await TestDatabase.connection(to: directory.databaseURL)
        let rows = try await aside.execute("SELECT pg_postmaster_start_time()::text AS value")
        await aside.close()
        return try #require(rows.first).decode("value", as: String.self)
    }

    @Test(.enabled("namespaces need root") { geteuid() == 0 }, arguments: Place.allCases)
    func aCommandFromElsewhereUsesTheServer(place: Place) async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let server = try #require(directory.databaseServer)
        let startedAt = try await serverStart(directory)
        let folder = try TestFolder("other-path")
        let path = place == .anotherPath ? folder.path : directory.path
        let log = try directory.log()
        let command = try await start(
            place.prefix(directory, folder),
            ["keys", "list", "--data-directory", path, "--resources", Checkout.root],
            log: log
        )
        #expect(await command.line() != nil)
        let status = await command.status()
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(status == 0, "\(text)")
        #expect(directory.databaseServer == server)
        let unchangedAt = try await serverStart(directory)
        #expect(unchangedAt == startedAt)
        #expect(await service.terminate() == 0)
        try await directory.serverEnds(server)
    }

    @Test(.enabled("namespaces need root") { geteuid() == 0 })
    func theServerOfAnotherContainerIsUsedAndStartedAgainAfterIt() async throws {
        let directory = try DataDirectory()
        let prefix = Place.anotherContainer.prefix(directory, try TestFolder("other-path"))
        let container = try await start(
            prefix,
            ["serve", "--port", "0"] + directory.options,
            log: try directory.log()
        )
        defer { container.kill() }
        #expect(await container.line() != nil)
        let startedAt = try await serverStart(directory)
        let list = try await Program.run(["keys", "list"] + directory.options)
        #expect(list.status == 0)
        let unchangedAt = try await serverStart(directory)
        #expect(unchangedAt == startedAt)
        container.kill()
        _ = await container.status()
        try await eventually("the server has ended with its container") {
            (try? await serverStart(directory)) == nil
        }
        let service = try await ServiceProcess(in: directory)
        #expect(await service.terminate() == 0)
    }

    /// Otherwise the server would run on without its file, and crash a minute later.
    @Test(.enabled("rights are taken from root") { geteuid() == 0 })
    func aServiceWithoutTheRightToTraceStopsItsServer() async throws {
        let directory = try DataDirectory()
        let service = try await start(
            Place.withoutTracing.prefix(directory, try TestFolder("other-path")),
            ["serve", "--port", "0"] + directory.options,
            log: try directory.log()
        )
        defer { service.kill() }
        #expect(await service.line() != nil)
        let server = try #require(directory.databaseServer)
        service.signal(SIGTERM)
        #expect(await service.status() == 0)
        try await directory.serverEnds(server)
    }

    @Test func aStartAfterAKilledFirstOneWaitsForTheEndOfInitdb() async throws {
        let directory = try DataDirectory()
        let killed = try Program.start(
            ["serve", "--port", "0"] + directory.options,
            log: try directory.log()
        )
        let file = "\(directory.path)/postgres.unfinished/PG_VERSION"
        try await eventually("initdb is at work") {
            FileManager.default.fileExists(atPath: file)
        }
        killed.kill()
        _ = await killed.status()
        let service = try await ServiceProcess(in: directory)
        #expect(await service.terminate() == 0)
    }
}
