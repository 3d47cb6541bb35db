import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl attach`: shows the progress of a session until nothing of it is outstanding.
struct Attach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the progress of a session until nothing of it is outstanding.",
        discussion: """
            Reads one stream of events, however many tasks there are. Bytes and rates are those of \
            tasks with a `progress_interval`. Exits with 1 if a task of the generation failed.
            """
    )

    private static let types = [
        "task.created", "task.retried", "task.progress", "task.waiting", "task.suspended",
        "task.completed", "task.failed", "task.cancelled", "session.events_finished",
        "session.invalidated",
    ]

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The name of the session.")
    var session: String

    mutating func validate() throws { try SessionName.validate(session) }

    mutating func run() async throws {
        let service = try options.service()
        let session = session
        let document = try await service.session(session)
        let reporter = ProgressReporter(document)
        let advice = options.command("attach", ShellWords.argument(session))
        let failures = options.listOfFailures(in: session)
        if document.outstanding > 0 {
            try await Interruption.handling(reporter) {
                "Attach again: \(advice)"
            } cancel: {
                _ = try await service.control(
                    BulkOperationRequest(verb: "cancel"),
                    tasksOfSession: session
                )
            } _: {
                try await reporter.whileShowing {
                    try await Self.follow(document, service, reporter, listing: failures)
                }
            }
        }
        let end = reporter.current
        try Output.line(
            "\(end.completed) completed, \(end.failed) failed, \(end.cancelled) cancelled"
        )
        if end.failed > 0 { throw ExitCode(1) }
    }

    private static func follow(
        _ document: SessionDocument,
        _ service: TransferService,
        _ reporter: ProgressReporter,
        listing failures: String
    ) async throws {
        let events = TransferEvents(
            service: service,
            sessionIdentifier: document.identifier,
            after: EventCursor(sessionID: document.id, sequence: document.lastEventSequence),
            types: types
        )
        for try await event in events {
            reporter.update { $0.apply(event, at: $1) }
            if case .task(.failed, let task) = event.kind {
                reporter.noteFailure(
                    "\(task.url ?? task.id): \(task.error?.message ?? "")",
                    listing: failures
                )
            }
            if reporter.current.isOver { return }
        }
    }
}
