import ArgumentParser
import Logging
import Postgres
import TransferHTTP
import TransferStore

/// `transferd keys`: creates API keys.
struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage API keys.",
        subcommands: [Create.self]
    )

    /// The tenant of a service that has only one.
    static let tenantDefault = "default"

    /// `transferd keys create`: creates one API key.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key and print it; only a hash of it is kept."
        )

        @Option(help: "The tenant it belongs to; made if there is none of that name.")
        var tenant = Keys.tenantDefault

        @Option(help: "What the key is for.")
        var name = "created on the command line"

        @OptionGroup var database: DatabaseOptions

        func run() async throws {
            let logger = Command.logger()
            try await Command.withDatabase(database, logger: logger) { database in
                try await database.migrate(logger: logger)
                let pool = ConnectionPool(
                    configuration: database.configuration,
                    connectionsMax: 1,
                    loop: database.loop
                )
                let key = APIKey.generate()
                _ = try await KeyStore(Database(pool: pool)).createAPIKey(
                    NewAPIKey(
                        id: key.id,
                        secretSHA256: key.secretSHA256,
                        name: name
                    ),
                    tenantName: tenant
                )
                await pool.close()
                print(key.serialized)
            }
        }
    }
}
