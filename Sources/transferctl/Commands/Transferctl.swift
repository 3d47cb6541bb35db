import ArgumentParser
import TransferClient

/// The service from a terminal: transfers, their events, and webhooks as they come.
@main
struct Transferctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transferctl",
        abstract: "Uses a transferd service.",
        discussion: """
            Reads TRANSFERD_URL, TRANSFERD_API_KEY and TRANSFERD_CLIENT, or a context of \
            `transferctl contexts`. Exits with 0 when all went well, 1 when a transfer failed, 2 \
            when the service refused or could not be reached, 64 for wrong arguments, and 130 \
            after Ctrl-C, which leaves transfers to the service.
            """,
        subcommands: [
            Get.self, Put.self, Attach.self, Wait.self, Sessions.self, Tasks.self, ShowTask.self,
            Suspend.self, Resume.self, Cancel.self, Retry.self, Events.self, Listen.self,
            Hosts.self, Subscriptions.self, Deliveries.self, Contexts.self,
        ]
    )

    /// The exit code when the service refused or could not be reached.
    private static let refused = ExitCode(2)

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as TransferError where error.failure == nil {
            Output.complain("Error: \(error)")
            exit(withError: refused)
        } catch let fault as ContextFile.Fault {
            Output.complain("Error: \(fault)")
            exit(withError: refused)
        } catch {
            exit(withError: error)
        }
    }
}
