import CLinux
import ChildProcess
import Foundation
import Glibc

/// A program of PostgreSQL that is run to its end, which blocks the calling thread meanwhile.
struct ServerCommand {
    /// The path of the program.
    let program: String
    let arguments: [String]
    /// The command that runs the program as another user; empty to run it as ourselves.
    let prefix: [String]
    /// A lock that the program holds, too, with all that it starts, also when we are killed.
    var lock: FileLock?

    /// The time limit; no program here takes longer, not even on a slow disk.
    static let timeout: Duration = .seconds(150)
    /// The number of bytes kept of a program's output: its last words.
    static let outputMax = 4096

    /// Runs the program and throws when it fails.
    ///
    /// - Parameter statuses: exit statuses that are answers, not failures.
    /// - Returns: the exit status; 128 and more after a signal, as in a shell.
    /// - Throws: ``EmbeddedPostgresError/programFailed(program:status:output:)``, or the error that
    ///   kept it from running.
    @discardableResult
    func run(accepting statuses: Set<Int32> = [0]) throws(EmbeddedPostgresError) -> Int32 {
        let output = try Self.makeOutput()
        defer { close(output) }
        defer { withExtendedLifetime(lock) {} }
        let status = try start(output: output).waitUntilExit(timeout: Self.timeout).shellStatus
        guard statuses.contains(status) else {
            throw .programFailed(
                program: program,
                status: status,
                output: Self.lastWords(output)
            )
        }
        return status
    }

    /// Opens a file in memory, which needs neither a directory nor space on a disk.
    ///
    /// With a pipe, a server that inherits it could make us wait for its end.
    private static func makeOutput() throws(EmbeddedPostgresError) -> Int32 {
        let name = "transferd-output"
        let descriptor = clinux_open_memory_file(name)
        guard descriptor >= 0 else {
            throw .system(operation: "memfd_create", path: name, errno: errno)
        }
        return descriptor
    }

    private func start(output: Int32) throws(EmbeddedPostgresError) -> ChildProcess {
        let command = prefix + [program] + arguments
        do throws(ChildProcess.StartError) {
            return try ChildProcess(
                command[0],
                Array(command.dropFirst()),
                // The account of the server may be unable to enter our current directory.
                in: "/",
                environment: Self.environment,
                output: .descriptor(output),
                errors: .descriptor(output),
                passing: lock?.descriptor,
                // One that is out of time ends with the programs it has started.
                isGroupLeader: true
            )
        } catch {
            throw .system(operation: "posix_spawn", path: program, errno: error.code)
        }
    }

    /// Our environment in plain English, without `PG*`, which would lead to another cluster.
    private static var environment: [String: String] {
        ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("PG") && !$0.key.hasPrefix("LC_") && $0.key != "LANG" }
            .merging(["LC_ALL": "C"]) { $1 }
            .merging(memory) { given, _ in given }
    }

    /// How a server process keeps its memory, in bytes, as mallopt(3) explains: by default the C
    /// library gives it back after nearly each statement and asks for it again.
    private static let memory = [
        "MALLOC_TOP_PAD_": "\(1 << 20)",
        "MALLOC_TRIM_THRESHOLD_": "\(8 << 20)",
        "MALLOC_MMAP_THRESHOLD_": "\(2 << 20)",
    ]

    private static func lastWords(_ output: Int32) -> String {
        let end = lseek(output, 0, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: outputMax)
        let count = pread(output, &bytes, outputMax, max(0, end - off_t(outputMax)))
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
