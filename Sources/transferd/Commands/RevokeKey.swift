import ArgumentParser
import TransferStore

/// `transferd keys revoke`: revokes one API key.
struct RevokeKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a key, on all instances within five seconds.",
        discussion: """
            Event streams and waiting requests that use it end. Also revokes the last key of a \
            tenant that has the scope admin.
            """
    )

    @Argument(help: "The key's identifier: what is between the first and the second underscore.")
    var id: String

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await Command.withStore(database) { database in
            let isKnown = try await Command.audited("keys revoke", about: id, in: database) {
                try await KeyStore(database).revokeAPIKey(id: id)
            }
            guard isKnown else {
                throw Command.Refusal("There is no key with that identifier.")
            }
        }
    }
}
