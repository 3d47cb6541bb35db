import ArgumentParser
import CLinux
import TaskThreads

/// The command line.
@main
struct Transferd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transferd",
        abstract: "A background URLSession for servers.",
        discussion: """
            Submit downloads over REST, go away, and be called back by a signed webhook when all \
            of a session's tasks are done. Options with a name in brackets can also be set by that \
            environment variable.
            """,
        version: Version.current,
        subcommands: [
            Serve.self, Migrate.self, Keys.self, Tenants.self, Hosts.self, PauseCommand.self,
            ResumeCommand.self, Secrets.self, Audit.self, Doctor.self, Verify.self,
        ],
        defaultSubcommand: Serve.self
    )

    // On the main actor, so that it begins before anything has a thread of the runtime's.
    @MainActor static func main() async {
        // First of all: `serve` takes them later, and is neither to be ended by one before nor, as
        // process 1 of a container, to miss it.
        clinux_hear_signals()
        clinux_open_standard_descriptors()
        DatabaseLocation.forgetOtherServers()
        do {
            try TaskThreads.takeOver()
            try await perform()
            LogQueue.standardError.drain()
        } catch {
            // What has led to the error comes before it.
            LogQueue.standardError.drain()
            if let failure = DatabaseFailure(error) { exit(withError: failure) }
            exit(withError: error)
        }
    }

    /// Runs the command; one other than `serve` does at signals what this process did before.
    private static func perform() async throws {
        var command = try await asyncParseAsRoot()
        if !(command is Serve) { clinux_restore_signals() }
        if var asyncCommand = command as? any AsyncParsableCommand {
            try await asyncCommand.run()
        } else {
            try command.run()
        }
    }
}
