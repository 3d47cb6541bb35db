package import ChildProcess
import Foundation

/// The program `transferd` that was built with these tests.
package enum Program {
    /// The path of the program: beside the tests' executable, unless `TRANSFERD_BINARY` says
    /// otherwise.
    package static let path: String = {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["TRANSFERD_BINARY"] { return path }
        let tests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appending(path: "transferd").path
    }()

    /// The environment of these tests without any setting of the machine.
    package static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter {
            $0.key != "DATABASE_URL" && !$0.key.hasPrefix("TRANSFERD_")
                && !$0.key.hasPrefix("PG")
        }
    }

    /// Starts the program without any setting of the machine.
    ///
    /// `resolver` is a file to be its resolv.conf(5), which no other process sees; `added` are
    /// further variables of its environment.
    package static func start(
        _ arguments: [String],
        log: String,
        resolver: String? = nil,
        adding added: [String: String] = [:]
    ) throws -> ChildProcess {
        let environment = environment.merging(added) { $1 }
        guard let resolver else {
            return try ChildProcess(
                path,
                arguments,
                environment: environment,
                output: .piped,
                errors: .overwriting(log)
            )
        }
        let script = #"mount --bind "$0" /etc/resolv.conf && exec "$@""#
        return try ChildProcess(
            "/usr/bin/unshare",
            ["--mount", "sh", "-c", script, resolver, path] + arguments,
            environment: environment,
            output: .piped,
            errors: .overwriting(log)
        )
    }

    /// Runs the program until it ends.
    ///
    /// - Returns: the exit status, and the first lines of the output, of which there is at most
    ///   this number.
    package static func run(
        _ arguments: [String],
        lines: Int = 1
    ) async throws -> (status: Int32, output: String) {
        let process = try start(arguments, log: "/dev/null")
        var output: [String] = []
        while output.count < lines, let line = await process.line() {
            output.append(String(decoding: line, as: UTF8.self))
        }
        return (await process.status(), output.joined(separator: "\n"))
    }
}
