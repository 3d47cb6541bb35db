import ArgumentParser
import TransferModel
import TransferStore

/// `transferd hosts`: an operator's decisions about the hosts that tasks go to.
struct Hosts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage the hosts that tasks go to.",
        subcommands: [Limit.self]
    )

    /// `transferd hosts limit`: the limits of a host.
    struct Limit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Set how many connections a host may have, in place of --connections-per-host.",
            discussion: """
                Holds over all instances that share the database and for all tenants, from about a \
                second later; transfers that run are not ended for it. When the host has trouble it \
                gets fewer by itself: GET /v1/hosts/{host} tells why.
                """
        )

        @Argument(help: "Host and port, as files.example:443.")
        var host: String

        @Option(help: "Connections at once; without it as many as any other host may have.")
        var connections: Int?

        @OptionGroup var database: DatabaseOptions

        func validate() throws {
            guard HostKey(hostAndPort: host) != nil else {
                throw ValidationError(HostKey.rule)
            }
            guard (1...1000).contains(connections ?? 1) else {
                throw ValidationError("--connections must be from 1 to 1000.")
            }
        }

        func run() async throws {
            guard let hostKey = HostKey(hostAndPort: host) else { return }
            try await Command.withStore(database) { database in
                let isSet = try await Command.audited("hosts limit", about: host, in: database) {
                    try await HostStore(database).limitHost(
                        hostKey,
                        name: host.lowercased(),
                        maxConnections: connections
                    )
                }
                guard isSet else {
                    throw Command.Refusal(
                        "\(HostStore.boundHostsMax) hosts have a limit already, the maximum."
                    )
                }
            }
        }
    }
}
