import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl events`: prints the events of a session.
struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the events of a session, from the oldest that is kept."
    )

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The name of the session.")
    var session: String

    @Option(help: "Only events of this type, such as task.failed; may be repeated.")
    var type: [String] = []

    @Flag(help: "Print events also as they happen, until the session ends.")
    var follow = false

    @Flag(help: "Print each event as JSON on a line.")
    var json = false

    mutating func run() async throws {
        let service = try options.service()
        let last = try await service.session(session).lastEventSequence
        guard follow || last > 0 else { return }
        // All types are read, so that the last one is seen whatever is printed.
        let events = TransferEvents(service: service, sessionIdentifier: session)
        for try await event in events {
            if type.isEmpty || type.contains(event.message.type) { try show(event) }
            if !follow, event.sequence >= last { return }
        }
    }

    private func show(_ event: TransferEvent) throws {
        if json { return try Output.json(event.message) }
        let task = event.message.data.task
        let fields = [
            "\(event.sequence)", event.message.timestamp.rfc3339, event.message.type,
            task?.id ?? "", task?.clientPersistedString ?? "", task?.error?.message ?? "",
        ]
        try Output.line(fields.map { TerminalText.safe($0) }.joined(separator: "\t"))
    }
}
