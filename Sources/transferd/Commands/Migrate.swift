import ArgumentParser
import TransferStore

/// `transferd migrate`: brings the schema up to date, or back.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database's schema to this version.",
        discussion: "`serve` does the same at its start."
    )

    @Option(help: "Take back that many migrations instead, with the data they hold.")
    var revert: Int?

    @Flag(
        help: """
            Also while workers live that cannot run beside the change; they end by themselves when \
            they notice.
            """
    )
    var force = false

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard revert.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--revert takes a number from 1.")
        }
    }

    func run() async throws {
        let logger = Command.logger()
        try await Command.withDatabase(database, logger: logger) { database in
            guard database.location.pooler == .none else { throw PoolerError.migrationRefused }
            let migrator = try Migrator(folder: database.location.migrations, logger: logger)
            try await database.withConnection { connection in
                if let revert {
                    try await migrator.revert(revert, connection, isForced: force)
                    print("reverted \(revert)")
                } else {
                    let count = try await migrator.migrate(connection, isForced: force)
                    print("applied \(count)")
                }
            }
        }
    }
}
