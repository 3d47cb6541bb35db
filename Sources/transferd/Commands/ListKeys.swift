import ArgumentParser
import Foundation
import TransferModel
import TransferStore
import TransferWire

/// `transferd keys list`: lists the API keys of a tenant.
struct ListKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys of a tenant, with those that ended within 30 days.",
        discussion: """
            One line for each: identifier, state, scopes, creation, last use, expiry and name, \
            separated by tabs; a hyphen stands for never. The last use is known to about a minute.
            """
    )

    @Option(help: "The tenant.")
    var tenant = Keys.tenantDefault

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await Command.withStore(database) { database in
            guard let id = try await TenantStore(database).tenant(named: tenant) else {
                throw Command.Refusal.unknownTenant
            }
            let store = KeyStore(database)
            var last: String?
            while true {
                let keys = try await store.apiKeys(
                    tenant: id,
                    after: last,
                    limit: Command.pageMax
                )
                for key in keys { print(Self.line(of: key)) }
                guard keys.count == Command.pageMax else { return }
                last = keys.last?.id
            }
        }
    }

    private static func line(of key: APIKeyRecord) -> String {
        let state =
            if key.revokedAt != nil {
                "revoked"
            } else if let expiresAt = key.expiresAt,
                expiresAt <= .now
            { "expired" } else { "good" }
        let times = [key.createdAt, key.lastUsedAt, key.expiresAt]
            .map { $0.map { Timestamp($0).rfc3339 } ?? "-" }
        let fields = [key.id, state, key.scopes.names.joined(separator: ",")] + times + [key.name]
        return fields.joined(separator: "\t")
    }
}
