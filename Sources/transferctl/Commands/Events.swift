import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl events`: prints the events of a session, or of all of them.
struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the events of a session, from the oldest that is kept.",
        discussion: "Without a session, prints those of all sessions of the tenant in one order."
    )

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The name of the session; all sessions by default.")
    var session: String?

    @Option(help: "Only events of this type, such as task.failed; may be repeated.")
    var type: [String] = []

    @Flag(help: "Print events also as they happen, until the session ends or for ever.")
    var follow = false

    @Flag(help: "Print each event as JSON on a line.")
    var json = false

    mutating func run() async throws {
        let service = try options.service()
        guard let session else { return try await showAll(of: service) }
        let last = try await service.session(session).lastEventSequence
        guard follow || last > 0 else { return }
        // All types are read, so that the last one is seen whatever is printed.
        let events = TransferEvents(service: service, sessionIdentifier: session)
        for try await event in events {
            try show(event)
            if !follow, event.sequence >= last { return }
        }
    }

    /// Prints the events of all sessions, those that are there in pages.
    private func showAll(of service: TransferService) async throws {
        var page: EventPage
        var cursor: EventCursor?
        repeat {
            page = try await service.events(after: cursor)
            for message in page.items { try show(TransferEvent(message)) }
            cursor = EventCursor(page.next)
        } while page.hasMore
        guard follow else { return }
        for try await event in TransferEvents(service: service, after: cursor) { try show(event) }
    }

    private func show(_ event: TransferEvent) throws {
        guard type.isEmpty || type.contains(event.message.type) else { return }
        if json { return try Output.json(event.message) }
        let place = session == nil ? event.sessionIdentifier ?? "" : "\(event.sequence)"
        let task = event.message.data.task
        let fields = [
            place, event.message.timestamp.rfc3339, event.message.type,
            task?.id ?? "", task?.clientPersistedString ?? "", task?.error?.message ?? "",
        ]
        try Output.line(fields.map { TerminalText.safe($0) }.joined(separator: "\t"))
    }
}
