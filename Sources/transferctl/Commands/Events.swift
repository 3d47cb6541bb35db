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

    @Option(help: "Only events of this type, such as task.failed or task.*; may be repeated.")
    var type: [String] = []

    @Flag(help: "Print events also as they happen, until the session ends or for ever.")
    var follow = false

    @Flag(help: "Print each event as JSON on a line.")
    var json = false

    private var types: EventTypes { EventTypes(terms: type) }

    mutating func validate() throws {
        try SessionName.validate(session)
        if let term = types.unknownTerm {
            throw ValidationError(
                """
                \(term) is no type of events, and no family such as task.*. The types: \
                \(EventTypes.known.joined(separator: ", ")).
                """
            )
        }
    }

    mutating func run() async throws {
        let service = try options.service()
        guard let session else { return try await showAll(of: service) }
        guard follow else {
            _ = try await showPages {
                try await service.events(ofSession: session, after: $0, types: type)
            }
            return
        }
        let events = TransferEvents(
            service: service,
            sessionIdentifier: session,
            // The session's last event ends the stream, whatever is printed.
            types: type.isEmpty ? [] : type + ["session.invalidated"]
        )
        for try await event in events { try show(event) }
    }

    /// Prints the events of all sessions, those that are there in pages.
    private func showAll(of service: TransferService) async throws {
        let cursor = try await showPages { try await service.events(after: $0, types: type) }
        guard follow else { return }
        let events = TransferEvents(service: service, after: cursor, types: type)
        for try await event in events { try show(event) }
    }

    /// Prints the events that are there, and returns the place behind them.
    private func showPages(
        _ read: (EventCursor?) async throws -> EventPage
    ) async throws -> EventCursor {
        var cursor: EventCursor?
        while true {
            let page = try await read(cursor)
            for message in page.items { try show(TransferEvent(message)) }
            for id in page.unreadable ?? [] { try Output.note("\(id): cannot be read") }
            let next = EventCursor(page.next)
            guard page.hasMore else { return next }
            cursor = next
        }
    }

    private func show(_ event: TransferEvent) throws {
        guard types.contains(event.message.type) else { return }
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
