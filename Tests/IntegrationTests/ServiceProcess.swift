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

    /// The bytes of memory that it has now.
    func memory() throws -> Int { try memory("VmRSS") }

    /// The most that it had since ``forgetMemoryPeak()``.
    func memoryPeak() throws -> Int { try memory("VmHWM") }

    /// Begins anew to look for the most memory that it has; see proc(5), `clear_refs`.
    func forgetMemoryPeak() throws {
        try "5".write(
            toFile: "/proc/\(process.pid)/clear_refs",
            atomically: false,
            encoding: .utf8
        )
    }

    private func memory(_ field: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("\(field):") }
        let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first
        return (kibibytes.flatMap { Int($0) } ?? 0) * 1024
    }

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
