import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl sessions`: lists the sessions.
struct Sessions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the sessions with the progress of their generations."
    )

    @OptionGroup var options: ServiceOptions

    @Flag(help: "Print each session as JSON on a line.")
    var json = false

    mutating func run() async throws {
        let service = try options.service()
        try await Output.list(
            json: json,
            Table(
                "SESSION",
                "CLIENT",
                "KIND",
                "GENERATION",
                "OUTSTANDING",
                "COMPLETED",
                "FAILED",
                "CANCELLED"
            ),
            page: { try await service.sessions(after: $0) },
            row: {
                [$0.identifier, $0.client, $0.kind, String($0.generation)]
                    + [$0.outstanding, $0.completed, $0.failed, $0.cancelled].map(String.init)
            }
        )
    }
}
