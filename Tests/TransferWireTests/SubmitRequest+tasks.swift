import TransferWire

extension SubmitRequest {
    /// Returns the tasks of a body, and whether it is an array.
    static func tasks(
        in json: String
    ) throws(WireDecoder.Failure) -> (tasks: [Checked<TaskRequest>], isBatch: Bool) {
        try read(json: Array(json.utf8)) { isBatch in
            ([], isBatch)
        } take: { read, _, task in
            read.tasks.append(task)
        }
    }
}
