import ArgumentParser
import TransferStore

/// `transferd migrate`: brings the schema up to date, or back.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database's schema to this version.",
        discussion: """
            `serve` does the same at its start, if its role may. A role that may not is prepared with \
            --grant-to, by the owner of the schema.
            """
    )

    @Option(help: "Take back that many migrations instead, with the data they hold; all or none.")
    var revert: Int?

    @Flag(
        help: """
            Also while workers live that cannot run beside the change; they end by themselves when \
            they notice.
            """
    )
    var force = false

    @Option(
        help: """
            Also let this role of PostgreSQL, which must exist, do what the service does: change rows, \
            and define nothing. Later migrations let it use what they add.
            """
    )
    var grantTo: String?

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard revert.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--revert takes a number from 1.")
        }
        guard revert == nil || grantTo == nil else {
            throw ValidationError("--grant-to does not go with --revert.")
        }
    }

    func run() async throws {
        let logger = Command.logger()
        try await Command.withDatabase(database, mayCreate: true, logger: logger) { database in
            guard database.location.pooler == .none else { throw PoolerError.migrationRefused }
            let migrator = try Migrator(folder: database.location.migrations, logger: logger)
            try await database.withConnection { connection in
                if let revert {
                    try await migrator.revert(revert, connection, isForced: force)
                    print("reverted \(revert)")
                } else {
                    let count = try await migrator.migrate(connection, isForced: force)
                    if count > 0 {
                        try await Self.record("migrate", about: "\(count) applied", database)
                    }
                    print("applied \(count)")
                    guard let grantTo else { return }
                    try await ServiceRole(name: grantTo).grant(connection)
                    try await Self.record("migrate --grant-to", about: grantTo, database)
                    print("granted to \(grantTo)")
                }
            }
        }
    }

    /// Records what the owner of the schema did; a reverted schema may have no log.
    private static func record(
        _ words: String,
        about object: String,
        _ server: DatabaseServer
    ) async throws {
        try await server.withDatabase(by: server.ownerConfiguration) { database in
            try await Command.record(words, about: object, in: database)
        }
    }
}
