import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl hosts`: shows how many connections hosts get, and why.
struct Hosts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the hosts with their connections, or the decisions about one of them."
    )

    @OptionGroup var options: ServiceOptions

    @Argument(help: "A host and its port, such as files.example:443.")
    var host: String?

    @Flag(help: "Print each host as JSON on a line.")
    var json = false

    mutating func run() async throws {
        let service = try options.service()
        guard let host else {
            return try await Output.list(
                json: json,
                Table("HOST", "STATE", "CONNECTIONS", "MAXIMUM", "CHANGED"),
                page: { try await service.hosts(after: $0) },
                row: {
                    [
                        $0.host, $0.state, $0.connections.map(String.init) ?? "",
                        $0.maxConnections.map(String.init) ?? "", $0.changedAt.rfc3339,
                    ]
                }
            )
        }
        let document = try await service.host(host)
        if json { return try Output.json(document) }
        var table = Table("DECIDED", "BEFORE", "AFTER", "REASON")
        let rows = (document.decisions ?? []).map {
            [$0.decidedAt.rfc3339, "\($0.connectionsBefore)", "\($0.connectionsAfter)", $0.reason]
        }
        for line in table.lines(rows) { try Output.line(line) }
    }
}
