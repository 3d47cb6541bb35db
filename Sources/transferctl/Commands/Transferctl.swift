import ArgumentParser
import Foundation
import TransferClient

#if canImport(Darwin)
    import Darwin
#else
    import CLinux
    import Glibc
#endif

/// The service from a terminal: transfers, their events, and webhooks as they come.
@main
struct Transferctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transferctl",
        abstract: "Uses a transferd service.",
        discussion: """
            Reads TRANSFERD_URL, TRANSFERD_API_KEY and TRANSFERD_CLIENT, or a context of \
            `transferctl contexts`, which TRANSFERCTL_CONTEXT may name. Exits with 0 when all went \
            well, 1 when a transfer failed or a file could not be read or written, 2 when the \
            service refused or could not be reached, 64 for wrong arguments, 130 after Ctrl-C, \
            which leaves transfers to the service, and 141 when nobody reads the output any more.
            """,
        version: Version.current,
        subcommands: [
            Get.self, Put.self, Attach.self, Wait.self, Sessions.self, Tasks.self, ShowTask.self,
            Suspend.self, Resume.self, Cancel.self, Retry.self, Events.self, Listen.self,
            Hosts.self, Subscriptions.self, Deliveries.self, Contexts.self,
        ]
    )

    /// The exit code without a context or a key.
    private static let misconfigured = ExitCode(2)
    /// The exit code when whoever read the output has ended: 128 and the number of SIGPIPE.
    private static let closedPipe = ExitCode(141)

    // On the main actor, so that it begins before anything has opened a descriptor.
    @MainActor static func main() async {
        #if os(Linux)
            clinux_open_standard_descriptors()
        #endif
        // A closed pipe ends a write with an error: commands leave nothing behind them.
        signal(SIGPIPE, SIG_IGN)
        do { try await perform() } catch { end(with: error) }
    }

    private static func perform() async throws {
        var command = try parseAsRoot()
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            try command.run()
        }
    }

    private static func end(with error: any Error) -> Never {
        switch error {
        case let fault as FileFault where fault.isOfClosedPipe: exit(withError: closedPipe)
        case let fault as ContextFile.Fault:
            Output.complain("Error: \(fault)")
            exit(withError: misconfigured)
        case let error as TransferError:
            Output.complain("Error: \(error.line)")
            exit(withError: error.exitCode)
        case let error as CocoaError:
            // Its own text is for programmers.
            exit(withError: FileFault(error.filePath ?? "A file", cannotBe: .used, error))
        default: exit(withError: error)
        }
    }
}
