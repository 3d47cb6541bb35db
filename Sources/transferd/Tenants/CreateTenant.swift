import ArgumentParser
import TransferModel
import TransferStore

/// `transferd tenants create`: makes a tenant.
struct CreateTenant: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a tenant, which has no key yet.",
        discussion: """
            `transferd keys create --tenant NAME` makes its keys. Whether a tenant is for tests \
            never changes, and one that `keys create` makes is not.
            """
    )

    @Argument(help: "The tenant's name.")
    var name: String

    @Flag(
        help: """
            Let its keys use /v1/test-hooks, with which tests of clients end waits, make attempts \
            fail and let results expire.
            """
    )
    var forTests = false

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await Command.withStore(database, mayCreate: true) { database in
            let isMade = try await Command.audited("tenants create", about: name, in: database) {
                try await TenantStore(database).createTenant(named: name, isForTests: forTests)
            }
            guard isMade else {
                throw Command.Refusal("There is a tenant of that name already.")
            }
        }
    }
}
