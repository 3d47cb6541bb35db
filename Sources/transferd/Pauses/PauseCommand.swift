import ArgumentParser
import Foundation
import TransferModel
import TransferStore
import TransferWire

/// `transferd pause`: an operator's word that nothing begins.
struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let no task begin: of a tenant, at a host, or at all.",
        discussion: """
            Holds over all instances that share the database, through restarts, until `transferd \
            resume`. What runs goes on, unless --now is given; tasks are accepted and webhooks \
            delivered. A tenant that was paused by an operator cannot resume itself. /health shows \
            what is paused, and --list prints it: since when, by whom, tenant and host, separated \
            by tabs.
            """
    )

    @OptionGroup var scope: PauseScope

    @Flag(
        help: """
            Give running tasks back to the queue too, except those whose requests must not be sent \
            twice.
            """
    )
    var now = false

    @Flag(help: "Print all pauses instead.")
    var list = false

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await Command.withStore(database) { database in
            let store = PauseStore(database)
            if list { return try await print(store.pauses()) }
            let pause = Pause(
                scope: try await scope.scope(in: database),
                hostName: scope.host?.lowercased(),
                isByTenant: false,
                givesBack: now,
                pausedAt: Date()
            )
            // No number of pauses keeps an operator from another one.
            _ = try await Command.audited("pause", about: scope.name, in: database) {
                try await store.pause(pause)
            }
        }
    }

    private func print(_ pauses: [Pause]) {
        for pause in pauses {
            let fields = [
                Timestamp(pause.pausedAt).rfc3339, pause.isByTenant ? "tenant" : "operator",
                pause.scope.tenant?.description ?? "-", pause.hostName ?? "-",
            ]
            Swift.print(fields.joined(separator: "\t"))
        }
    }
}
