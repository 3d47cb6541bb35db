@testable import EmbeddedPostgres
import PollLoop
import Foundation
import Glibc
import Logging
import Postgres
import Testing
import TransferTestSupport

/// Tests that run one after the other, because each runs servers of its own.
@Suite(.serialized, .timeLimit(.minutes(5))) struct EmbeddedClusterTests {
    private let logger = Logger(label: "test")
    private let fast = ["fsync": "off", "shared_buffers": "16MB"]

    /// Runs `body` with a directory that is removed afterwards.
    private func withDirectory(
        depth: Int = 0,
        _ body: (String) async throws -> Void
    ) async throws {
        let top = "/tmp/transferd-cluster-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: top) }
        let deep = top + String(repeating: "/a-long-name-of-a-directory", count: depth)
        try await body(deep)
    }

    private func row(_ query: Query, at url: String) async throws -> Row {
        let loop = try PollLoop(name: "embedded")
        defer { loop.stop() }
        let connection = try await Connection.open(ConnectionConfiguration(url: url), on: loop)
        let rows = try await connection.execute(query)
        await connection.close()
        #expect(rows.count == 1)
        return try #require(rows.first)
    }

    private func one(_ url: String) async throws -> Int32 {
        try await row("SELECT 1 AS one", at: url).decode("one", as: Int32.self)
    }

    private func serverID(_ directory: String) throws -> pid_t {
        let text = try String(
            contentsOfFile: "\(directory)/postgres/postmaster.pid",
            encoding: .utf8
        )
        return try #require(text.split(separator: "\n").first.flatMap { pid_t($0) })
    }

    private func start(_ directory: String) async throws -> EmbeddedCluster {
        try await EmbeddedCluster.start(in: directory, settings: fast, logger: logger)
    }

    /// Lets the server's file name a process, as seen in another container.
    private func name(_ process: pid_t, in directory: String) throws {
        let file = ClusterLayout(directory: directory).processFile
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        try (["\(process)"] + lines.dropFirst().map(String.init)).joined(separator: "\n")
            .write(toFile: file, atomically: false, encoding: .utf8)
    }

    @Test func startsServesStopsAndStartsAgain() async throws {
        try await withDirectory { directory in
            for _ in 0..<2 {
                let cluster = try await start(directory)
                #expect(try await one(cluster.url) == 1)
                await cluster.stop()
                await #expect(throws: PostgresError.self) { try await one(cluster.url) }
            }
        }
    }

    /// An empty cluster would take the place of one whose disk is not mounted.
    @Test func aClusterThatIsGoneIsNotMadeAnew() async throws {
        try await withDirectory { directory in
            let cluster = try await start(directory)
            await cluster.stop()
            let files = FileManager.default
            try files.moveItem(atPath: "\(directory)/postgres", toPath: "\(directory)/away")
            await #expect(throws: EmbeddedPostgresError.self) { try await cluster.revive() }
            #expect(!files.fileExists(atPath: "\(directory)/postgres"))
            try files.moveItem(atPath: "\(directory)/away", toPath: "\(directory)/postgres")
            try await cluster.revive()
            #expect(try await one(cluster.url) == 1)
            await cluster.stop()
        }
    }

    @Test func compressesAsFastAsTheServerCan() async throws {
        try await withDirectory { directory in
            let cluster = try await start(directory)
            let row = try await row(
                """
                SELECT setting, 'lz4' = ANY (enumvals) AS knows_lz4 FROM pg_settings
                WHERE name = 'wal_compression'
                """,
                at: cluster.url
            )
            await cluster.stop()
            let setting = try row.decode("setting", as: String.self)
            #expect(try setting == (row.decode("knows_lz4", as: Bool.self) ? "lz4" : "on"))
        }
    }

    @Test func lastUserStopsTheServer() async throws {
        try await withDirectory { directory in
            async let first = start(directory)
            async let second = start(directory)
            let (one, two) = try await (first, second)
            #expect(one.url == two.url)
            await one.stop()
            #expect(try await self.one(two.url) == 1)
            await two.stop()
            await #expect(throws: PostgresError.self) { try await self.one(two.url) }
        }
    }

    @Test func serverLeftByKilledProcessIsTakenOver() async throws {
        try await withDirectory { directory in
            do {
                // Released without a stop: its locks go, as with a killed process.
                _ = try await start(directory)
            }
            let server = try serverID(directory)
            let cluster = try await start(directory)
            #expect(try serverID(directory) == server)
            #expect(try await one(cluster.url) == 1)
            await cluster.stop()
        }
    }

    @Test func killedServerIsStartedAgain() async throws {
        try await withDirectory { directory in
            let cluster = try await start(directory)
            let server = try serverID(directory)
            kill(server, SIGKILL)
            while FileManager.default.fileExists(atPath: "/proc/\(server)/cwd") {
                await Task.yield()
            }
            let again = try await start(directory)
            #expect(try await one(again.url) == 1)
            await cluster.stop()
            await again.stop()
        }
    }

    /// On a disk that others fill up to what they leave to the database, its log fits, also after
    /// it was killed.
    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func aSmallDiskHasRoomForTheLog() async throws {
        let disk = try await Ext4Disk.forTest(size: 200 << 20)
        defer { withExtendedLifetime(disk) {} }
        let directory = "\(disk.path)/data"
        let cluster = try await start(directory)
        var status = statvfs()
        #expect(statvfs(disk.path, &status) == 0)
        let free = Int(status.f_bavail * status.f_frsize)
        let files = open("\(disk.path)/files", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        #expect(posix_fallocate(files, 0, free - (48 << 20)) == 0)
        close(files)

        let loop = try PollLoop(name: "embedded")
        defer { loop.stop() }
        let configuration = ConnectionConfiguration(url: cluster.url)
        let connection = try await Connection.open(configuration, on: loop)
        _ = try await connection.execute("CREATE TABLE churn (value text)")
        // Each some megabytes of the log, of which the table keeps none.
        for _ in 0..<40 {
            _ = try await connection.execute(
                """
                INSERT INTO churn SELECT repeat(md5(g::text), 8) FROM generate_series(1, 20000) g
                """
            )
            _ = try await connection.execute("TRUNCATE churn")
        }
        await connection.close()
        let server = try serverID(directory)
        kill(server, SIGKILL)
        while FileManager.default.fileExists(atPath: "/proc/\(server)/cwd") {
            await Task.yield()
        }
        let again = try await start(directory)
        #expect(try await one(again.url) == 1)
        await cluster.stop()
        await again.stop()
    }

    /// Checks that files left by a kill are not believed when they name a process that lives, as a
    /// killed server does until its parent reaps it, nor when they are empty, as after a loss of
    /// power.
    ///
    /// The process is another server, since the server heeds those of its own account only.
    @Test(arguments: [
        ("postgres/postmaster.pid", false), ("run/.s.PGSQL.5432.lock", false),
        ("postgres/postmaster.pid", true),
    ])
    func fileThatNamesAnotherProcessIsNotBelieved(file: String, isEmpty: Bool) async throws {
        try await withDirectory { directory in
            await (try start(directory)).stop()
            let other = try await start("\(directory)/other")
            let text = try "\(serverID("\(directory)/other"))\n\(directory)/postgres\n"
            try (isEmpty ? "" : text).write(
                toFile: "\(directory)/\(file)",
                atomically: false,
                encoding: .utf8
            )
            let cluster = try await start(directory)
            #expect(try await one(cluster.url) == 1)
            await cluster.stop()
            await other.stop()
        }
    }

    /// In another container, the number that the server has for itself is a stranger's.
    @Test func aServerThatAcceptsIsNotTakenForKilledAndNoStrangerIsStopped() async throws {
        try await withDirectory { directory in
            // Before the first, which looks for its number in its file each minute.
            let stranger = try await start("\(directory)/other")
            let first = try await start(directory)
            let server = try serverID(directory)
            try name(serverID("\(directory)/other"), in: directory)
            let second = try await start(directory)
            #expect(try await one(second.url) == 1)
            await first.stop()
            await second.stop()
            // It is left to whoever sees it by its own number.
            #expect(try await one(second.url) == 1)
            #expect(try await one(stranger.url) == 1)
            try name(server, in: directory)
            let third = try await start(directory)
            #expect(try serverID(directory) == server)
            await third.stop()
            await stranger.stop()
            await #expect(throws: PostgresError.self) { try await one(third.url) }
        }
    }

    /// As one that was started under another path of a deep directory, or on another machine.
    @Test func aServerThatDoesNotAnswerIsNotTakenForKilled() async throws {
        try await withDirectory { directory in
            let cluster = try await start(directory)
            let server = try serverID(directory)
            let layout = ClusterLayout(directory: directory)
            let files = FileManager.default
            try files.moveItem(atPath: layout.socket, toPath: "\(directory)/socket")
            // No process has this number, the first beyond those of Linux.
            try name(1 << 22, in: directory)
            await #expect(
                throws: EmbeddedPostgresError.serverSilent(
                    data: layout.data,
                    socket: layout.socket
                )
            ) {
                try await start(directory)
            }
            #expect(files.fileExists(atPath: layout.processFile))
            #expect(files.fileExists(atPath: layout.socketLock))
            try files.moveItem(atPath: "\(directory)/socket", toPath: layout.socket)
            try name(server, in: directory)
            #expect(try await one(cluster.url) == 1)
            await cluster.stop()
        }
    }

    /// As when `run` was cleaned, or a short directory in `/tmp`.
    @Test func aServerWhoseSocketIsGoneIsStopped() async throws {
        try await withDirectory { directory in
            let layout = ClusterLayout(directory: directory)
            let files = FileManager.default
            let cluster = try await start(directory)
            try files.removeItem(atPath: layout.socketDirectory)
            await cluster.stop()
            #expect(!files.fileExists(atPath: layout.processFile))
            let again = try await start(directory)
            #expect(try await one(again.url) == 1)
            await again.stop()
        }
    }

    @Test func aServerWhoseSocketIsGoneIsStartedAgainOnceNobodyUsesIt() async throws {
        try await withDirectory { directory in
            let layout = ClusterLayout(directory: directory)
            do {
                let first = try await start(directory)
                let server = try serverID(directory)
                try FileManager.default.removeItem(atPath: layout.socket)
                await #expect(throws: EmbeddedPostgresError.self) { try await start(directory) }
                #expect(try serverID(directory) == server)
                // Released without a stop: its locks go, as with a killed process.
                withExtendedLifetime(first) {}
            }
            let again = try await start(directory)
            #expect(try await one(again.url) == 1)
            await again.stop()
        }
    }

    @Test func whoMayMakeNoClusterMakesNoDirectoryEither() async throws {
        try await withDirectory { directory in
            await #expect(throws: EmbeddedPostgresError.clusterMissing(path: directory)) {
                try await EmbeddedCluster.start(in: directory, mayCreate: false, logger: logger)
            }
            #expect(!FileManager.default.fileExists(atPath: directory))
        }
    }

    @Test func halfMadeClusterIsMadeAnew() async throws {
        try await withDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: "\(directory)/postgres.unfinished/base",
                withIntermediateDirectories: true
            )
            let cluster = try await start(directory)
            #expect(try await one(cluster.url) == 1)
            await cluster.stop()
        }
    }

    @Test func deepDirectoryGetsShortSocketPath() async throws {
        try await withDirectory(depth: 5) { directory in
            let cluster = try await start(directory)
            #expect(cluster.url.contains("host='/tmp/transferd-"))
            #expect(try await one(cluster.url) == 1)
            await cluster.stop()
            try FileManager.default.removeItem(
                atPath: ClusterLayout(directory: directory).socketDirectory
            )
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func closedParentIsNamedWithTheWayOut() async throws {
        try await withDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            let failure = await #expect(throws: EmbeddedPostgresError.self) {
                try await start("\(directory)/data")
            }
            #expect(failure?.description.contains("chmod o+x \(directory)") == true)
        }
    }

    @Test func serverThatCannotStartTellsWhereItsLogIs() async throws {
        try await withDirectory { directory in
            let failure = await #expect(throws: EmbeddedPostgresError.self) {
                try await EmbeddedCluster.start(
                    in: directory,
                    settings: ["shared_buffers": "nonsense"],
                    logger: logger
                )
            }
            #expect(failure?.description.contains("\(directory)/postgres.log") == true)
        }
    }

    @Test func aLongLogIsSetAsideAtTheNextStart() async throws {
        try await withDirectory { directory in
            let log = ClusterLayout(directory: directory).log
            let size = ClusterServer.logByteCountMax + 1
            await (try start(directory)).stop()
            #expect(truncate(log, size) == 0)
            await (try start(directory)).stop()
            var status = stat()
            #expect(stat("\(log).old", &status) == 0)
            #expect(status.st_size == size)
            #expect(stat(log, &status) == 0)
            #expect(status.st_size < 1 << 20)
        }
    }

    /// To the server's group, or to everybody.
    @Test(arguments: [0o710, 0o701] as [mode_t])
    func socketDirectoryOpenToOthersIsRefused(mode: mode_t) async throws {
        try await withDirectory { directory in
            // Made by a start, so that it has the right owner.
            await (try start(directory)).stop()
            #expect(chmod("\(directory)/run", mode) == 0)
            await #expect(
                throws: EmbeddedPostgresError.socketDirectoryUnsafe(path: "\(directory)/run")
            ) {
                try await start(directory)
            }
        }
    }
}
