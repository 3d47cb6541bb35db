import Foundation
import Glibc
import TransferTestSupport

/// The built program, running as its users run it.
final class ServiceProcess: Sendable {
    /// The line that the service prints when it listens.
    struct Announcement: Decodable {
        let event: String
        let host: String
        let port: Int
        let pid: Int32
    }

    /// The program ended before it said where it listens.
    struct NotStarted: Error, CustomStringConvertible {
        let description: String
    }

    let announcement: Announcement
    private let process: ChildProcess
    /// Whose end is that of the database, too.
    private let directory: DataDirectory

    /// Starts the service in `directory` and waits until it listens.
    ///
    /// It asks no name server but `nameServer`, if that is given, which needs root. It logs to `log`,
    /// or to a file of the directory.
    ///
    /// - Throws: ``NotStarted`` when it ends before.
    init(
        in directory: DataDirectory,
        _ options: [String] = [],
        nameServer: NameServer? = nil,
        log otherLog: String? = nil
    ) async throws {
        self.directory = directory
        let log = try otherLog ?? directory.log()
        process = try Program.start(
            ["serve", "--port", "0", "--allow-network", "127.0.0.0/8"] + directory.options
                + options,
            log: log,
            resolver: try nameServer.map(directory.resolver)
        )
        guard let line = await process.line(),
            let announcement = try? JSONDecoder().decode(Announcement.self, from: line)
        else {
            process.signal(SIGKILL)
            let text = try otherLog ?? String(contentsOfFile: log, encoding: .utf8)
            throw NotStarted(description: String(text.suffix(2000)))
        }
        self.announcement = announcement
    }

    deinit { process.signal(SIGKILL) }

    /// The threads that it has now.
    func threadCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/task").count
    }

    var pid: pid_t { process.pid }

    /// Sends a signal and does not wait.
    func signal(_ signal: Int32) { process.signal(signal) }

    /// Waits for its end.
    ///
    /// - Returns: its exit status.
    func status() async -> Int32 { await process.status() }

    /// Has it do nothing at all, as on a machine that was suspended, until ``resume()``.
    func pause() { process.signal(SIGSTOP) }

    func resume() { process.signal(SIGCONT) }

    /// Ends it without warning.
    func killNow() async -> Int32 {
        process.signal(SIGKILL)
        return await process.status()
    }

    /// Asks it to end, and waits until it has.
    ///
    /// - Returns: its exit status.
    func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await process.status()
    }
}
