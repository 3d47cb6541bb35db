import ArgumentParser
import Foundation
import TransferClient
import TransferWire

/// `transferctl get`: downloads URLs into a folder.
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Downloads URLs into a folder.",
        discussion: """
            The transfers go on when the command is stopped; `transferctl get` with the same \
            session and no URLs continues with them.
            """
    )

    @Argument(help: "The URLs; none to continue with those of a stopped command.")
    var urls: [String] = []

    @Option(help: "The folder of the files, which is made if it is not there.")
    var output = "."

    @Option(help: "The name of the session.")
    var session = "transferctl"

    mutating func run() async throws {
        let session = TransferSession(
            configuration: .background(withIdentifier: session),
            service: try TransferService()
        )
        let folder = URL(filePath: output)
        // Before anything is submitted: nothing is downloaded that has no place.
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var failures = 0
        var tasks = try await session.reconnect(owner: "transferctl").compactMap {
            switch $0 {
            case .success(let task): return task
            case .failure(let error):
                failures += 1
                try Output.note("\(error.taskIdentifier): \(error.message)")
                return nil
            }
        }
        tasks += urls.map { url in
            let task = session.downloadTask(with: url)
            // A task without a client string cannot be taken over.
            task.taskDescription = url
            return task
        }
        for task in tasks where task.state == .suspended { task.resume() }
        failures += try await withThrowingTaskGroup { group in
            for task in tasks { group.addTask { try await Self.take(task, into: folder) } }
            return try await group.reduce(0) { $0 + ($1 ? 0 : 1) }
        }
        try await session.close()
        if failures > 0 { throw ExitCode(1) }
    }

    /// Moves the result of a task into the folder, and removes the task.
    ///
    /// - Returns: whether there is a result.
    private static func take(_ task: TransferTask, into folder: URL) async throws -> Bool {
        let url = task.originalRequest.url
        let file: URL
        do throws(TransferError) {
            let result = try await task.result()
            file = folder.appending(path: name(of: result, url))
            try await result.moveFile(to: file)
            try await task.remove()
        } catch {
            try Output.note("\(url): \(error)")
            return false
        }
        try Output.line("\(url) -> \(file.path)")
        return true
    }

    private static func name(of result: TransferResult, _ url: String) -> String {
        result.response?.suggestedFilename
            ?? url.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last.map(String.init)
            ?? "file"
    }
}
