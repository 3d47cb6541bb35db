import TransferWire

extension SubmitRequest {
    /// Returns the tasks of a body, and whether it is an array.
    static func tasks(
        in json: String
    ) throws(WireDecoder.Failure) -> (tasks: [Checked<TaskRequest>], isBatch: Bool) {
        var tasks: [Checked<TaskRequest>] = []
        var isBatch = false
        try read(json: Array(json.utf8)) { place, task in
            if place ?? 0 == 0 { tasks = [] }
            isBatch = place != nil
            tasks.append(task)
        }
        return (tasks, isBatch)
    }
}
