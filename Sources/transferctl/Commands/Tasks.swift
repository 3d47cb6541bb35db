import ArgumentParser
import TransferClient
import TransferWire

/// `transferctl tasks`: lists the tasks of a session.
struct Tasks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the tasks of a session, in the order of submission."
    )

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The name of the session.")
    var session: String

    @Option(help: "Only tasks in this state, such as failed; may be repeated.")
    var state: [String] = []

    @Flag(help: "Print each task as JSON on a line.")
    var json = false

    mutating func validate() throws { try SessionName.validate(session) }

    mutating func run() async throws {
        let service = try options.service()
        let (session, state) = (session, state)
        try await Output.list(
            json: json,
            Table("TASK", "STATE", "BYTES", "URL", "REASON"),
            page: { try await service.tasks(ofSession: session, states: state, after: $0) },
            row: { task in
                [
                    task.id, task.state, Self.bytes(task), task.url,
                    task.error?.message ?? task.reason ?? "",
                ]
            }
        )
    }

    /// Returns how many bytes have moved, of how many.
    static func bytes(_ task: TaskDocument) -> String {
        let isUpload = task.kind == "upload"
        let count = isUpload ? task.countOfBytesSent : task.countOfBytesReceived
        let total =
            isUpload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
        return Quantity.bytes(count) + (total < 0 ? "" : "/\(Quantity.bytes(total))")
    }
}
