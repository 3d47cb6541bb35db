import ArgumentParser
import TransferModel
import TransferStore

/// `transferd tenants remove`: removes a tenant with everything that it owns.
struct RemoveTenant: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a tenant with its sessions, tasks, files and everything else it owns.",
        discussion: """
            Says what the tenant owns, and removes it only with --yes. Its keys end on all instances \
            within five seconds, running transfers are cancelled, and workers remove the rest in \
            pages, however often they are restarted. The name is free at once; until nothing is left, \
            `tenants list` has the tenant as `removed:` with its identifier. Entries of the audit log \
            stay.
            """
    )

    @Argument(help: "The tenant's name.")
    var name: String

    @Flag(help: "Remove the tenant; nobody can bring it back.")
    var yes = false

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await Command.withStore(database) { database in
            let store = OwnerRemovalStore(database)
            guard let holdings = try await store.tenantHoldings(named: name) else {
                throw Command.Refusal.unknownTenant
            }
            for (thing, count) in holdings.counts { print("\(thing)\t\(count)") }
            guard yes else {
                print("Nothing was removed; repeat the command with --yes to remove all of it.")
                return
            }
            _ = try await Command.audited("tenants remove", about: name, in: database) {
                try await store.beginTenantRemoval(named: name)
            }
            print("Its keys have ended; running workers remove the rest.")
        }
    }
}

extension TenantHoldings {
    fileprivate var counts: KeyValuePairs<String, Int64> {
        [
            "sessions": sessions, "tasks": tasks, "outstanding tasks": outstandingTasks,
            "stored bytes": storedBytes, "subscriptions": subscriptions, "clients": clients,
            "credentials": credentials, "keys": keys,
        ]
    }
}
