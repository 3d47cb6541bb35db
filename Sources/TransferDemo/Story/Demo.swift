import ArgumentParser
import Dispatch
import Foundation
import Glibc
import TransferClient

/// `transferd-demo`: shows the service at work, and fails if it breaks a promise.
@main
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transferd-demo",
        abstract: "Show transferd at work.",
        discussion: """
            Starts the service with a database of its own, hands it downloads, waits to be called \
            back by webhooks, and checks everything that came.
            """
    )

    static let deadlineDefault = 300
    /// The timeout for the cleanup, longer than the time that the service gets to end.
    private static let cleanupTimeout: DispatchTimeInterval = .seconds(60)

    @Option(help: "The transferd to show.")
    var transferd: String

    @Option(help: "The transferctl that shows its progress.")
    var transferctl: String

    @Option(help: "Download this instead of the demo's own files.")
    var url: String?

    @Option(help: "Seconds after which the run has failed.")
    var deadline = Self.deadlineDefault

    func validate() throws {
        guard deadline > 0 else { throw ValidationError("--deadline takes a number from 1.") }
    }

    func run() async throws {
        let screen = Screen()
        do {
            guard try await performInTime(screen) else {
                screen.show("\nNot everything held.")
                throw ExitCode.failure
            }
            screen.show("\nEverything held.")
        } catch  where error is DemoError || error is TransferError {
            screen.show("\nFailed: \(error)")
            throw ExitCode.failure
        }
    }

    /// Runs the demo and returns whether everything held; whatever ends first ends the rest.
    private func performInTime(_ screen: Screen) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await DemoRun(
                    transferd: transferd,
                    transferctl: transferctl,
                    url: url,
                    screen: screen
                ).perform()
            }
            group.addTask {
                try await Task.sleep(for: .seconds(deadline))
                throw DemoError.deadlineExceeded(seconds: deadline)
            }
            group.addTask {
                try await Interruption.wait()
                throw DemoError.interrupted
            }
            defer {
                Self.limitCleanup()
                group.cancelAll()
            }
            return try await group.next() ?? false
        }
    }

    /// Ends the process if the orderly end ever hangs.
    private static func limitCleanup() {
        DispatchQueue.global()
            .asyncAfter(deadline: .now() + cleanupTimeout) {
                let text = "The demo could not clean up in time.\n"
                try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
                Glibc.exit(EXIT_FAILURE)
            }
    }
}
