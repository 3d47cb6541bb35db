import ArgumentParser
import Logging
import Postgres
import TransferModel
import TransferStore

/// `transferd tenants`: what an operator decides about tenants, and they cannot change.
struct Tenants: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage tenants.",
        subcommands: [Limit.self]
    )

    /// `transferd tenants limit`.
    struct Limit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Limit what all tasks of a tenant together transfer, and how many they are.",
            discussion: """
                Holds over all instances that share the database, and for what is running within \
                about a second. A session may have a lower limit of its own. Each call sets all \
                limits of the tenant.
                """
        )

        @Option(help: "The tenant.")
        var tenant = Keys.tenantDefault

        @Option(help: "The most bytes in a second; without it there is no limit.")
        var totalBytesPerSecondMax: Int64?

        @Option(help: "The most tasks that have not ended; without it there is no limit.")
        var outstandingTasksMax: Int64?

        @Option(help: "The most tasks that run at once; without it there is no limit.")
        var runningTasksMax: Int?

        @OptionGroup var database: DatabaseOptions

        func validate() throws {
            let range = TransferOptions.bytesPerSecondRange
            guard range.contains(totalBytesPerSecondMax ?? range.lowerBound) else {
                throw ValidationError(
                    "--total-bytes-per-second-max must be from \(range.lowerBound) to "
                        + "\(range.upperBound)."
                )
            }
            guard outstandingTasksMax ?? 1 > 0 else {
                throw ValidationError("--outstanding-tasks-max must be at least 1.")
            }
            guard runningTasksMax ?? 1 > 0 else {
                throw ValidationError("--running-tasks-max must be at least 1.")
            }
        }

        func run() async throws {
            let logger = Command.logger()
            try await Command.withDatabase(database, logger: logger) { database in
                try await database.migrate(logger: logger)
                let pool = ConnectionPool(
                    configuration: database.configuration,
                    connectionsMax: 1,
                    loop: database.loop
                )
                let store = TransferStore(pool: pool)
                let isKnown = try await store.limitTenant(
                    named: tenant,
                    totalBytesPerSecondMax: totalBytesPerSecondMax
                )
                _ = try await store.limitTenant(
                    named: tenant,
                    outstandingTasksMax: outstandingTasksMax
                )
                _ = try await store.limitTenant(named: tenant, runningTasksMax: runningTasksMax)
                await pool.close()
                guard isKnown else {
                    throw ValidationError("There is no tenant of that name.")
                }
            }
        }
    }
}
