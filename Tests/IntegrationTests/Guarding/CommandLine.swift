import ChildProcess
import Foundation

/// A program of the system that a test runs to its end.
enum CommandLine {
    /// Returns the exit status and everything that was printed.
    static func run(
        _ path: String,
        _ arguments: [String]
    ) async throws -> (status: Int32, output: String) {
        let process = try ChildProcess(
            path,
            arguments,
            environment: ["PATH": "/usr/bin:/bin"],
            output: .piped,
            errors: .discarded
        )
        var output = ""
        while let text = await process.line() { output += String(decoding: text, as: UTF8.self) }
        return (await process.status(), output)
    }
}
