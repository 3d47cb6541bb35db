import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl tasks`: lists the tasks of a session.
struct Tasks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the tasks of a session, in the order of submission."
    )

    @Argument(help: "The name of the session.")
    var session: String

    @Option(help: "Only tasks in this state, such as failed; may be repeated.")
    var state: [String] = []

    @Flag(help: "Print each task as JSON on a line.")
    var json = false

    mutating func run() async throws {
        let service = try TransferService()
        var cursor: String?
        repeat {
            let page = try await service.tasks(
                ofSession: session,
                states: state,
                after: cursor
            )
            for task in page.items { if json { try Output.json(task) } else { try show(task) } }
            for id in page.unreadableTasks ?? [] { try Output.note("\(id): cannot be read") }
            cursor = page.nextCursor
        } while cursor != nil
    }

    /// Prints the identifier, the state, the bytes, and why a task waits or has failed.
    private func show(_ task: TaskDocument) throws {
        let reason = task.error?.message ?? task.reason
        let total = task.countOfBytesExpectedToReceive
        let bytes = "\(task.countOfBytesReceived)/\(total < 0 ? "?" : String(total))"
        let fields = [task.id, task.state, bytes, task.url, reason ?? ""]
        try Output.line(fields.joined(separator: "\t"))
    }
}
