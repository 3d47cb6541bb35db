import TransferWire

extension BulkOperationDocument {
    /// What it has done so far.
    var line: String {
        let end =
            switch state {
            case "running": " so far"
            case "stopped": ", then stopped"
            default: ""
            }
        let cause = reason.map { " (\($0))" } ?? ""
        return TerminalText.safe(
            "\(verb): \(tasksChanged) of \(tasksMatching) tasks changed\(end)\(cause)"
        )
    }
}
