import ArgumentParser
import TransferModel
import TransferStore

/// The part of the work that `transferd pause` and `transferd resume` are about.
struct PauseScope: ParsableArguments {
    @Option(help: "The tenant; without it all tenants.")
    var tenant: String?

    @Option(help: "Host and port, as files.example:443; without it all hosts.")
    var host: String?

    /// What it is called in the audit log.
    var name: String { "\(tenant ?? "all tenants") at \(host ?? "all hosts")" }

    func validate() throws {
        if let host, HostKey(hostAndPort: host) == nil {
            throw ValidationError(HostKey.rule)
        }
    }

    /// Returns the scope.
    ///
    /// - Throws: ``Command/Refusal`` when there is no such tenant.
    func scope(in database: Database) async throws -> Pause.Scope {
        var id: TenantID?
        if let tenant {
            id = try await TenantStore(database).tenant(named: tenant)
            guard id != nil else { throw Command.Refusal.unknownTenant }
        }
        return Pause.Scope(tenant: id, host: host.flatMap { HostKey(hostAndPort: $0) })
    }
}
