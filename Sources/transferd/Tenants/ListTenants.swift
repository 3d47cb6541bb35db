import ArgumentParser
import TransferModel
import TransferStore
import TransferWire

/// `transferd tenants list`: lists all tenants.
struct ListTenants: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List all tenants by name.",
        discussion: """
            One line for each: identifier, creation, number of outstanding tasks and name, and \
            `for tests` if it is, separated by tabs. The identifier names the tenant's container in \
            the data directory. A tenant that is being removed is called `removed:` and its \
            identifier.
            """
    )

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await Command.withStore(database) { database in
            let store = TenantStore(database)
            var last: String?
            while true {
                let tenants = try await store.tenants(after: last, limit: Command.pageMax)
                for (id, tenant) in tenants {
                    var fields = [
                        "\(id)", Timestamp(tenant.createdAt).rfc3339,
                        "\(tenant.taskCounts.outstanding)", tenant.name,
                    ]
                    if tenant.isForTests { fields.append("for tests") }
                    print(fields.joined(separator: "\t"))
                }
                guard tenants.count == Command.pageMax else { return }
                last = tenants.last?.tenant.name
            }
        }
    }
}
