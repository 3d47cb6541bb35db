import ArgumentParser
import TransferModel
import TransferStore

/// `transferd tenants`: an operator's decisions about tenants, which tenants cannot change.
struct Tenants: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage tenants.",
        subcommands: [
            CreateTenant.self, Limit.self, LimitEgress.self, ListTenants.self, RemoveTenant.self,
        ]
    )

    /// `transferd tenants limit`: the limits of a tenant.
    struct Limit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Limit what all tasks of a tenant together transfer, and how many they are.",
            discussion: """
                Holds over all instances that share the database, and for what is running within \
                about a second. A session may have a lower limit of its own. Limits that are not \
                named stay as they are; `none` takes one away.
                """
        )

        @Option(help: "The tenant.")
        var tenant = Keys.tenantDefault

        @Option(help: "The most bytes in a second, or none.")
        var totalBytesPerSecondMax: LimitArgument<Int64>?

        @Option(help: "The most tasks that have not ended, or none.")
        var outstandingTasksMax: LimitArgument<Int64>?

        @Option(help: "The most tasks that run at once, or none.")
        var runningTasksMax: LimitArgument<Int>?

        @Option(help: "The most requests in a second to each instance, or none.")
        var requestsPerSecondMax: LimitArgument<Int>?

        @Option(
            help: "The most bytes of results, of bodies for uploads and of kept parts, or none."
        )
        var storedBytesMax: LimitArgument<Int64>?

        @Option(help: "The most bytes that running tasks have to move, or none.")
        var inFlightBytesMax: LimitArgument<Int64>?

        @OptionGroup var database: DatabaseOptions

        func validate() throws {
            let range = TransferOptions.bytesPerSecondRange
            if let rate = totalBytesPerSecondMax?.number, !range.contains(rate) {
                throw ValidationError(
                    "--total-bytes-per-second-max must be from \(range.lowerBound) to "
                        + "\(range.upperBound), or none."
                )
            }
            if let count = outstandingTasksMax?.number, count < 1 {
                throw ValidationError("--outstanding-tasks-max must be at least 1, or none.")
            }
            if let count = runningTasksMax?.number, count < 1 {
                throw ValidationError("--running-tasks-max must be at least 1, or none.")
            }
            if let count = requestsPerSecondMax?.number, !RequestRate.range.contains(count) {
                throw ValidationError(
                    "--requests-per-second-max must be from \(RequestRate.range.lowerBound) to "
                        + "\(RequestRate.range.upperBound), or none."
                )
            }
            if let count = storedBytesMax?.number, count < 1 {
                throw ValidationError("--stored-bytes-max must be at least 1, or none.")
            }
            if let count = inFlightBytesMax?.number, count < 1 {
                throw ValidationError("--in-flight-bytes-max must be at least 1, or none.")
            }
            if totalBytesPerSecondMax == nil, outstandingTasksMax == nil, runningTasksMax == nil,
                requestsPerSecondMax == nil, storedBytesMax == nil, inFlightBytesMax == nil
            {
                throw ValidationError("Name a limit to change.")
            }
        }

        func run() async throws {
            try await Command.withStore(database) { database in
                let isKnown = try await Command.audited(
                    "tenants limit",
                    about: tenant,
                    in: database
                ) {
                    try await TenantStore(database).limitTenant(
                        named: tenant,
                        changes: TenantLimitChanges(
                            totalBytesPerSecondMax: totalBytesPerSecondMax.map(\.number),
                            outstandingTasksMax: outstandingTasksMax.map(\.number),
                            runningTasksMax: runningTasksMax.map(\.number),
                            requestsPerSecondMax: requestsPerSecondMax.map(\.number),
                            storedBytesMax: storedBytesMax.map(\.number),
                            inFlightBytesMax: inFlightBytesMax.map(\.number)
                        )
                    )
                }
                guard isKnown else { throw Command.Refusal.unknownTenant }
            }
        }
    }
}
