import ChildProcess
import Foundation

/// The service itself, started for this demo alone: as a process, with its own database.
struct Service: Sendable {
    /// The first line of its output.
    private struct Announcement: Decodable {
        let host: String
        let port: Int
    }

    /// The time that a service gets to end, which is longer than its own grace.
    private static let stopTimeout: Duration = .seconds(25)

    let address: String
    let apiKey: String
    private let process: ChildProcess
    private let log: String

    var pid: Int32 { process.pid }

    /// Starts the program and waits until it listens.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - directory: for its database, files, key and log.
    /// - Returns: the service, which has to be stopped.
    /// - Throws: ``DemoError`` with its last words when it does not come to listen.
    static func start(program: String, directory: String) async throws -> Service {
        let log = "\(directory)/transferd.log"
        let process = try start(
            program,
            [
                "serve", "--port", "0", "--data-directory", "\(directory)/data",
                // Origin and subscriber of the demo are on this machine, where strangers' URLs
                // must not lead.
                "--allow-network", "127.0.0.0/8",
            ],
            log: log
        )
        do {
            let line = await process.line() ?? Data()
            try Task.checkCancellation()
            guard let announcement = try? JSONDecoder().decode(Announcement.self, from: line) else {
                throw DemoError.serviceNotStarted(reason: lastLines(of: log))
            }
            let key = try String(contentsOfFile: "\(directory)/data/api-key", encoding: .utf8)
            return Service(
                address: "http://\(announcement.host):\(announcement.port)",
                apiKey: key.trimmingCharacters(in: .whitespacesAndNewlines),
                process: process,
                log: log
            )
        } catch {
            _ = await process.stop(within: stopTimeout)
            throw error
        }
    }

    /// The last lines that the service logged.
    var lastWords: String { Self.lastLines(of: log) }

    /// Asks the service to end, and waits until it has.
    ///
    /// - Returns: its exit status.
    func stop() async -> ChildProcess.Exit { await process.stop(within: Self.stopTimeout) }

    private static func start(
        _ program: String,
        _ arguments: [String],
        log: String
    ) throws(DemoError) -> ChildProcess {
        do throws(ChildProcess.StartError) {
            return try ChildProcess(
                program,
                arguments,
                // Settings of a service that is installed here are not meant for this one.
                environment: ProcessInfo.processInfo.environment.filter {
                    $0.key != "DATABASE_URL" && !$0.key.hasPrefix("TRANSFERD_")
                },
                output: .piped,
                errors: .appending(log),
                // On Ctrl-C the demo ends it in order.
                isGroupLeader: true
            )
        } catch {
            throw .serviceNotStarted(reason: "\(error)")
        }
    }

    private static func lastLines(of log: String) -> String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        let lines = text.split(separator: "\n").suffix(5).joined(separator: "\n")
        return lines.isEmpty ? "it said nothing" : lines
    }
}
