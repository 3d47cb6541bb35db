import Foundation
import Logging
import PollLoop

/// Creates, starts, takes over and stops the server; every call blocks.
final class ClusterServer: Sendable {
    let layout: ClusterLayout
    private let account: ServerAccount?
    private let programs: ServerPrograms
    private let settings: ClusterSettings
    private let lock: FileLock
    private let users: FileLock

    /// The timeout for starting, which replays the log after a crash and may take long.
    static let startTimeoutSeconds = 120
    static let stopTimeoutSeconds = 60
    /// The timeout for the lock, which others hold for as long as a start or stop takes.
    static let lockTimeout: Duration = .seconds(130)
    /// The size above which the log is set aside at the next start.
    static let logByteCountMax: off_t = 16 << 20

    init(directory: String, settings: [String: String]) throws(EmbeddedPostgresError) {
        account = try ServerAccount.ofThisProcess()
        // 0711: the account of the server passes through, but cannot list the other files there.
        try Directory.create(directory, mode: 0o711)
        layout = ClusterLayout(directory: try Directory.resolve(directory))
        programs = try Self.programs(for: Self.version(of: layout.data))
        self.settings = ClusterSettings(
            overrides: settings,
            socketDirectory: layout.socketDirectory
        )
        lock = try FileLock(path: layout.lock)
        users = try FileLock(path: layout.users)
    }

    /// Throws unless there is a cluster in a data directory; makes nothing, not even that.
    static func requireCluster(in directory: String) throws(EmbeddedPostgresError) {
        let data = ClusterLayout(directory: directory).data
        guard access(data, F_OK) != 0 else { return }
        guard [ENOENT, ENOTDIR].contains(errno) else {
            throw .system(operation: "access", path: data, errno: errno)
        }
        throw .clusterMissing(path: directory)
    }

    /// Throws what is missing on this machine for a cluster to be made.
    static func checkMachine() throws(EmbeddedPostgresError) {
        if try ServerAccount.ofThisProcess() == nil { try ServerAccount.requireOwnName() }
        _ = try programs(for: nil)
    }

    /// Throws unless the cluster was created.
    func requireData() throws(EmbeddedPostgresError) {
        guard Self.version(of: layout.data) != nil else { throw .clusterGone(path: layout.data) }
    }

    func start(_ logger: Logger, mayCreate: Bool = true) throws(EmbeddedPostgresError) {
        if let account { try checkTraversal(by: account) }
        try lock.lock(within: Self.lockTimeout)
        defer { lock.unlock() }
        if Self.version(of: layout.data) == nil {
            guard mayCreate else { throw .clusterGone(path: layout.data) }
            try initialize(logger)
        }
        try prepareSocketDirectory()
        switch try presenceAfterCutOff(logger) {
        case .running:
            logger.info("PostgreSQL runs already", metadata: ["data": "\(layout.data)"])
        case .absent: try launch(logger)
        }
        try users.share()
    }

    func stop(_ logger: Logger) throws(EmbeddedPostgresError) {
        try lock.lock(within: Self.lockTimeout)
        defer { lock.unlock() }
        defer { users.unlock() }
        guard users.unshareIsLast() else {
            logger.info("PostgreSQL is left to its other users")
            return
        }
        do throws(EmbeddedPostgresError) {
            guard try presence() == .running else { return }
        } catch {
            guard case .serverSilent = error, try isCutOffHere() else { throw error }
        }
        guard try isNamedAsHere() else {
            logger.notice("PostgreSQL is left to the container in which it runs")
            return
        }
        try runStop()
        logger.info("PostgreSQL has stopped")
    }

    /// Looks for the server, and first stops one that a process left to us and that nobody can
    /// reach, because its socket is gone: it would be waited for without end.
    private func presenceAfterCutOff(_ logger: Logger) throws(EmbeddedPostgresError) -> Presence {
        do throws(EmbeddedPostgresError) {
            return try presence()
        } catch {
            // Those who use it have connections that were made before.
            guard case .serverSilent = error, try isCutOffHere(), users.unshareIsLast() else {
                throw error
            }
        }
        // Nobody becomes a user before we are done with the start.
        defer { users.unlock() }
        logger.warning(
            "PostgreSQL does not answer at its socket and is started again",
            metadata: ["socket": "\(layout.socket)"]
        )
        try runStop()
        return try presence()
    }

    /// Creates the cluster under another name: a kill in the middle leaves nothing half-made.
    private func initialize(_ logger: Logger) throws(EmbeddedPostgresError) {
        if account == nil { try ServerAccount.requireOwnName() }
        logger.info("making a PostgreSQL cluster", metadata: ["data": "\(layout.data)"])
        try Directory.remove(layout.unfinishedData)
        try Directory.create(layout.unfinishedData, mode: 0o700, owner: account)
        try run(
            programs.initdb,
            [
                "-D", layout.unfinishedData, "--no-instructions",
                "--username=\(ClusterLayout.userName)", "--auth-local=trust", "--auth-host=reject",
                // Byte order for text: the fastest, and the same on every machine.
                "--encoding=UTF8", "--locale=C", "--data-checksums",
            ] + (settings.isDurable ? [] : ["--no-sync"])
                + (isDiskSmall ? ["--wal-segsize=1"] : []),
            // When we are killed, it works on for a moment, and the next start waits for its end.
            holding: lock
        )
        try append(
            "include '\(ClusterLayout.settingsName)'\n",
            to: "\(layout.unfinishedData)/postgresql.conf"
        )
        guard rename(layout.unfinishedData, layout.data) == 0 else {
            throw .system(operation: "rename", path: layout.data, errno: errno)
        }
    }

    private func launch(_ logger: Logger) throws(EmbeddedPostgresError) {
        var settings = settings
        settings.fit(memoryBytes: Memory.bytes)
        if let diskBytes, let logFileBytes {
            settings.fit(diskBytes: diskBytes, logFileBytes: logFileBytes)
        }
        for (name, value) in ClusterSettings.preferences where try accepts(value, for: name) {
            settings.prefer(value, for: name)
        }
        try Directory.write(settings.text, to: layout.settings, owner: account)
        try prepareLog()
        removeLocksOfKilledServer()
        let start = ContinuousClock.now
        try runStart()
        logger.info(
            "PostgreSQL has started",
            metadata: ["data": "\(layout.data)", "duration": "\(ContinuousClock.now - start)"]
        )
    }

    /// The size of the disk with the cluster; nil for one without a size, or that does not tell it.
    private var diskBytes: Int64? {
        var status = statvfs()
        guard statvfs(layout.directory, &status) == 0, status.f_blocks > 0 else { return nil }
        let (bytes, isOver) = status.f_blocks.multipliedReportingOverflow(by: status.f_frsize)
        return isOver ? nil : Int64(clamping: bytes)
    }

    /// The size of the files of the cluster's log, which it was made with.
    private var logFileBytes: Int64? {
        let folder = "\(layout.data)/pg_wal"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard let name = names.first(where: { $0.count == Self.logFileNameLength }) else {
            return nil
        }
        var status = stat()
        return stat("\(folder)/\(name)", &status) == 0 ? Int64(status.st_size) : nil
    }

    private static let logFileNameLength = 24

    private var isDiskSmall: Bool { (diskBytes ?? .max) < ClusterSettings.smallDiskBytes }

    /// Returns whether the server was built with a value of a setting, without starting it.
    private func accepts(
        _ value: String,
        for name: String
    ) throws(EmbeddedPostgresError) -> Bool {
        try run(
            programs.postgres,
            [
                "-C", name, "-D", layout.data, "--config-file=/dev/null", "-c", "\(name)=\(value)",
            ],
            accepting: [0, 1]
        ) == 0
    }

    private func runStop() throws(EmbeddedPostgresError) {
        try run(
            programs.pgctl,
            [
                "stop", "-D", layout.data, "-m", "fast", "-w", "-t", "\(Self.stopTimeoutSeconds)",
            ]
        )
    }

    private func runStart() throws(EmbeddedPostgresError) {
        // From here on it is held by the server and its children, until the last of them has ended.
        let life = try FileLock(path: layout.server)
        // A program that is being started elsewhere in this process has a copy for a moment.
        try life.lock(within: .seconds(1))
        do throws(EmbeddedPostgresError) {
            try run(
                programs.pgctl,
                [
                    "start", "-D", layout.data, "-l", layout.log, "-w", "-s", "-t",
                    "\(Self.startTimeoutSeconds)",
                ],
                holding: life
            )
        } catch {
            guard case .programFailed(let program, let status, let output) = error else {
                throw error
            }
            throw .programFailed(
                program: program,
                status: status,
                output: "\(output) (see \(layout.log))"
            )
        }
    }

    /// Creates the socket's directory, closed to others: who reaches the socket is trusted.
    private func prepareSocketDirectory() throws(EmbeddedPostgresError) {
        let path = layout.socketDirectory
        try Directory.create(path, mode: 0o700, owner: account)
        var status = stat()
        // Links are not followed: in /tmp anybody could have put one there before us.
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
            status.st_uid == account?.userID ?? geteuid(), status.st_mode & 0o077 == 0
        else { throw .socketDirectoryUnsafe(path: path) }
    }

    private func prepareLog() throws(EmbeddedPostgresError) {
        var status = stat()
        if stat(layout.log, &status) == 0, status.st_size > Self.logByteCountMax {
            rename(layout.log, "\(layout.log).old")
        }
        try append("", to: layout.log)
    }

    private func append(_ text: String, to path: String) throws(EmbeddedPostgresError) {
        try Directory.write(text, to: path, owner: account, flags: O_APPEND)
    }

    private func checkTraversal(by account: ServerAccount) throws(EmbeddedPostgresError) {
        var path = "/"
        for part in layout.directory.split(separator: "/") {
            path += (path == "/" ? "" : "/") + part
            let status = try run("test", ["-x", path], accepting: [0, 1])
            guard status == 0 else { throw .directoryClosed(path: path, account: account.name) }
        }
    }

    /// Runs a program as the account of the server; it holds `lock`, too, if there is one.
    @discardableResult
    func run(
        _ program: String,
        _ arguments: [String],
        accepting statuses: Set<Int32> = [0],
        holding lock: FileLock? = nil
    ) throws(EmbeddedPostgresError) -> Int32 {
        let prefix = try account?.prefix() ?? []
        let command = ServerCommand(
            program: program,
            arguments: arguments,
            prefix: prefix,
            lock: lock
        )
        return try command.run(accepting: statuses)
    }

    private static func programs(
        for version: String?
    ) throws(EmbeddedPostgresError) -> ServerPrograms {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return try ServerPrograms.find(for: version, path: path)
    }

    private static func version(of data: String) -> String? {
        let text = try? String(contentsOfFile: "\(data)/PG_VERSION", encoding: .utf8)
        return text?.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
