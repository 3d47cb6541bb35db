import ChildProcess
import Foundation
import TransferTestSupport

extension DataDirectory {
    /// Runs a command of the program on the directory.
    ///
    /// - Returns: its exit status and the fields of each line that it prints.
    func run(_ arguments: String...) async throws -> (status: Int32, lines: [[String]]) {
        try await run(arguments)
    }

    /// Runs a command of the program on the directory, as ``run(_:)-(String...)`` does.
    func run(_ arguments: [String]) async throws -> (status: Int32, lines: [[String]]) {
        let process = try Program.start(arguments + options, log: "/dev/null")
        var lines: [[String]] = []
        while let text = await process.line() {
            for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
                lines.append(line.components(separatedBy: "\t"))
            }
        }
        return (await process.status(), lines)
    }
}
