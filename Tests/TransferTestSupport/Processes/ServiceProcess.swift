import ChildProcess
import Foundation
import Glibc

/// A process of the built program, running as its users run it.
package final class ServiceProcess: Sendable {
    /// The line that the service prints when it listens.
    package struct Announcement: Decodable {
        package let event: String
        /// The host on which the service listens.
        package let host: String
        /// The port on which the service listens.
        package let port: Int
        /// The process identifier of the service.
        package let pid: Int32
    }

    /// An error that says that the program ended before it said where it listens.
    package struct NotStarted: Error, CustomStringConvertible {
        package let description: String
    }

    /// The line that the service printed.
    package let announcement: Announcement
    private let process: ChildProcess
    /// The data directory, whose end is that of the database, too.
    private let directory: DataDirectory

    /// Starts the service in `directory` and waits until it listens.
    ///
    /// It asks only `nameServer`, if one is given, which requires root. It logs to `log`, or to a
    /// file of the directory.
    ///
    /// `allowed` are the networks that it reaches although they are not public.
    ///
    /// - Throws: ``NotStarted`` when it ends before.
    package init(
        in directory: DataDirectory,
        _ options: [String] = [],
        allowed: [String] = ["127.0.0.0/8"],
        nameServer: NameServer? = nil,
        environment: [String: String] = [:],
        log otherLog: String? = nil
    ) async throws {
        self.directory = directory
        let log = try otherLog ?? directory.log()
        process = try Program.start(
            ["serve", "--port", "0"] + allowed.flatMap { ["--allow-network", $0] }
                + directory.options + options,
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

    /// Returns the current number of its threads.
    package func threadCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/task").count
    }

    /// Returns the names of its threads now.
    package func threadNames() throws -> [String] {
        let tasks = URL(filePath: "/proc/\(process.pid)/task")
        return try FileManager.default.contentsOfDirectory(atPath: tasks.path).compactMap {
            // Nil for a thread that has ended since.
            try? String(contentsOf: tasks.appending(path: "\($0)/comm"), encoding: .utf8)
                .trimmingCharacters(in: .newlines)
        }
    }

    /// The process identifier.
    package var pid: Int32 { process.pid }

    /// Sends a signal without waiting.
    package func signal(_ signal: Int32) { process.signal(signal) }

    /// Waits for the process to end.
    ///
    /// - Returns: the exit status.
    package func status() async -> Int32 { await process.status() }

    /// Limits the process to `count` files and sockets beyond those that are open now; nil restores
    /// the maximum.
    package func limitDescriptors(toFurther count: Int?) async throws {
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd")
        try await limitDescriptors(to: count.map { open.count + $0 })
    }

    /// Denies the process each further file and socket, also in place of one that it closes, until
    /// ``limitDescriptors(toFurther:)`` restores the maximum.
    package func denyDescriptors() async throws {
        // It keeps what is open beyond the limit; see getrlimit(2).
        try await limitDescriptors(to: 3)
    }

    private func limitDescriptors(to count: Int?) async throws {
        let hard = try hardDescriptorLimit()
        let soft = count.map { "\($0)" } ?? hard
        let program = try ChildProcess(
            "/usr/bin/prlimit",
            ["--pid", "\(process.pid)", "--nofile=\(soft):\(hard)"],
            environment: Program.environment
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

    /// Returns the bytes of memory in use now.
    package func memory() throws -> Int { try memory("VmRSS") }

    /// Returns the maximum memory in use since ``forgetMemoryPeak()``.
    package func memoryPeak() throws -> Int { try memory("VmHWM") }

    /// Restarts the measurement of ``memoryPeak()``; see proc(5), `clear_refs`.
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

    /// Suspends the process, as on a suspended machine, until ``resume()``.
    package func pause() { process.signal(SIGSTOP) }

    /// Lets a paused process continue.
    package func resume() { process.signal(SIGCONT) }

    /// Kills the process without warning.
    package func killNow() async -> Int32 {
        process.signal(SIGKILL)
        return await process.status()
    }

    /// Asks the process to end, and waits until it has.
    ///
    /// - Returns: the exit status.
    package func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await process.status()
    }
}
