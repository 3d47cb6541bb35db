import ArgumentParser
import TransferModel
import TransferStore

/// `transferd resume`: ends what `transferd pause` began.
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "End a pause of a tenant, of a host, or of everything.",
        discussion: """
            Ends the pause that `transferd pause` began with the same --tenant and --host; others \
            remain. With --by-tenant, it ends a pause that the tenant itself began.
            """
    )

    @OptionGroup var scope: PauseScope

    @Flag(help: "End the pause that the tenant itself began.")
    var byTenant = false

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await Command.withStore(database) { database in
            let scope = try await scope.scope(in: database)
            let wasPaused = try await Command.audited(
                "resume",
                about: self.scope.name,
                in: database
            ) {
                try await PauseStore(database).endPause(scope, isByTenant: byTenant)
            }
            guard wasPaused else { throw Command.Refusal("That is not paused.") }
        }
    }
}
