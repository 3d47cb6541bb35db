import ArgumentParser
import Foundation
import TransferClient
import TransferWire

/// Downloads files and continues after a restart, as “From URLSession to transferd” explains.
@main
struct Album: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "album",
        abstract: "Downloads a list of URLs; started again after its end, it goes on.",
        discussion: """
            Reads TRANSFERD_URL and TRANSFERD_API_KEY. Prints a line for each file, and ends when \
            all of them are in the folder.
            """
    )

    @Option(help: "A file with a URL on each line; the last part of its path names the result.")
    var list: String

    @Option(help: "The folder of the files.")
    var folder: String

    @Option(help: "The name of the session.")
    var session = "album"

    @Option(help: "The seconds after which another process may take the tasks of a dead one.")
    var lease = 60

    mutating func run() async throws {
        var configuration = TransferSessionConfiguration.background(withIdentifier: session)
        configuration.leaseDuration = .seconds(lease)
        let session = TransferSession(configuration: configuration, service: try TransferService())
        let urls = try String(contentsOfFile: list, encoding: .utf8)
            .split(separator: "\n").map(String.init)
        let folder = URL(filePath: folder)

        // 1. The tasks of an earlier process of this program, ended or not.
        var tasks = try await session.reconnect().compactMap { try? $0.get() }
        say("taken over: \(tasks.count)")

        // 2. What neither is a task nor has arrived is submitted, all with one request.
        let known = Set(tasks.compactMap(\.taskDescription))
        let missing = urls.filter { !Self.isThere(folder.appending(path: Self.name($0))) }
        for url in missing where !known.contains(url) {
            let task = session.downloadTask(with: url)
            task.taskDescription = url
            task.resume()
            tasks.append(task)
        }
        say("followed: \(tasks.count)")

        // 3. Each file is moved to its place, and the task then removed: a task that remains is
        // taken over again.
        try await withThrowingTaskGroup { group in
            for task in tasks {
                group.addTask { try await Self.take(task, into: folder) }
            }
            for try await name in group { say("arrived: \(name)") }
        }
        try await session.close()
    }

    private static func take(_ task: TransferTask, into folder: URL) async throws -> String {
        let name = name(task.taskDescription ?? "")
        let file = folder.appending(path: name)
        do {
            try await task.result().moveFile(to: file)
        } catch {
            // The service was still carrying out `remove()` when the earlier process was killed.
            guard error.code == .problem(.taskExpired), isThere(file) else { throw error }
            return name
        }
        try await task.remove()
        return name
    }

    private static func name(_ url: String) -> String {
        String(url.split(separator: "/").last ?? "file")
    }

    private static func isThere(_ file: URL) -> Bool {
        FileManager.default.fileExists(atPath: file.path)
    }

    private func say(_ line: String) {
        print(line)
        // A program that reads these lines gets each at once.
        fflush(nil)
    }
}
