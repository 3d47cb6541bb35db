import Foundation
import Glibc

/// The built program, running as its users run it.
package final class ServiceProcess: Sendable {
    /// The line that the service prints when it listens.
    package struct Announcement: Decodable {
        package let event: String
        package let host: String
        package let port: Int
        package let pid: Int32
    }

    /// The program ended before it said where it listens.
    package struct NotStarted: Error, CustomStringConvertible {
        package let description: String
    }

    package let announcement: Announcement
    private let process: ChildProcess
    /// Whose end is that of the database, too.
    private let directory: DataDirectory

    /// Starts the service in `directory` and waits until it listens.
    ///
    /// It asks no name server but `nameServer`, if that is given, which needs root. It logs to `log`,
    /// or to a file of the directory.
    ///
    /// - Throws: ``NotStarted`` when it ends before.
    package init(
        in directory: DataDirectory,
        _ options: [String] = [],
        nameServer: NameServer? = nil,
        environment: [String: String] = [:],
        log otherLog: String? = nil
    ) async throws {
        self.directory = directory
        let log = try otherLog ?? directory.log()
        process = try Program.start(
            ["serve", "--port", "0", "--allow-network", "127.0.0.0/8"] + directory.options
                + options,
            log: log,
            resolver: try nameServer.map(directory.resolver),
            adding: environment
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
    package func threadCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/task").count
    }

    package var pid: Int32 { process.pid }

    /// Sends a signal and does not wait.
    package func signal(_ signal: Int32) { process.signal(signal) }

    /// Waits for its end.
    ///
    /// - Returns: its exit status.
    package func status() async -> Int32 { await process.status() }

    /// Lets it open no more than `count` files and sockets beside those that it has open now; with
    /// nil as many as it may.
    package func limitDescriptors(toFurther count: Int?) async throws {
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd")
        let hard = try hardDescriptorLimit()
        let soft = count.map { "\(open.count + $0)" } ?? hard
        let program = try ChildProcess(
            "/usr/bin/prlimit",
            ["--pid", "\(process.pid)", "--nofile=\(soft):\(hard)"],
            environment: Program.environment,
            log: "/dev/null"
        )
        guard await program.status() == 0 else {
            throw NotStarted(description: "prlimit cannot change the limit")
        }
    }

    private func hardDescriptorLimit() throws -> String {
        let limits = try String(contentsOfFile: "/proc/\(process.pid)/limits", encoding: .utf8)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        // The last word is the unit.
        guard let hard = line?.split(separator: " ").dropLast().last else {
            throw NotStarted(description: "the limits cannot be read")
        }
        return String(hard)
    }

    /// The bytes of memory that it has now.
    package func memory() throws -> Int { try memory("VmRSS") }

    /// The most that it had since ``forgetMemoryPeak()``.
    package func memoryPeak() throws -> Int { try memory("VmHWM") }

    /// Begins anew to look for the most memory that it has; see proc(5), `clear_refs`.
    package func forgetMemoryPeak() throws {
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
    package func pause() { process.signal(SIGSTOP) }

    package func resume() { process.signal(SIGCONT) }

    /// Ends it without warning.
    package func killNow() async -> Int32 {
        process.signal(SIGKILL)
        return await process.status()
    }

    /// Asks it to end, and waits until it has.
    ///
    /// - Returns: its exit status.
    package func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await process.status()
    }
}
