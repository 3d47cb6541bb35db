import ArgumentParser
import TransferClient
import TransferWire

/// A command that changes the state of tasks.
protocol ControlCommand: AsyncParsableCommand {
    /// The verb as the service names it.
    static var verb: String { get }
    /// The tasks.
    var target: ControlTarget { get }
}

extension ControlCommand {
    /// Changes the tasks, and prints what became of each; those that are refused stop no other.
    mutating func run() async throws {
        let service = try target.options.service()
        if let session = target.session {
            let operation = try await service.control(
                BulkOperationRequest(
                    verb: Self.verb,
                    states: target.state.isEmpty ? nil : target.state
                ),
                tasksOfSession: session
            )
            if target.json { return try Output.json(operation) }
            return try Output.line(operation.line)
        }
        var refusals = 0
        for id in target.tasks {
            do {
                let task = try await service.control(Self.verb, task: id)
                if target.json {
                    try Output.json(task)
                } else {
                    try Output.line("\(id)  \(task.state)")
                }
            } catch let error as TransferError where error.problem != nil {
                refusals += 1
                Output.complain("\(TerminalText.safe(id)): \(error)")
            }
        }
        if refusals > 0 { throw ExitCode(2) }
    }
}
