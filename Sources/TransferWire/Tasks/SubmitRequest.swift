/// The body of `POST …/tasks`: one task or an array of them.
package struct SubmitRequest: Sendable {
    /// The maximum number of tasks in one request.
    package static let tasksMax = 1000

    /// The tasks, each decoded on its own, in the order of the request.
    package let tasks: [Checked<TaskRequest>]
    /// Whether the body was an array, so that the answer is one too.
    package let isBatch: Bool

    /// Reads a body task by task.
    ///
    /// The values that a decoder makes of JSON are several times as large, so there are never more
    /// of them than those of one task.
    package init(json bytes: [UInt8]) throws(WireDecoder.Failure) {
        guard let elements = try WireDecoder.elements(of: bytes) else {
            tasks = [try WireDecoder.decode(Checked<TaskRequest>.self, checked: bytes[...])]
            isBatch = false
            return
        }
        guard elements.count <= Self.tasksMax else {
            throw .invalid(
                FieldError(
                    pointer: "",
                    .tooManyItems,
                    "At most \(Self.tasksMax) tasks fit in one request."
                )
            )
        }
        guard !elements.isEmpty else {
            throw .invalid(
                FieldError(pointer: "", .noItems, "An array needs at least one task.")
            )
        }
        var tasks: [Checked<TaskRequest>] = []
        tasks.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            let task = try WireDecoder.decode(
                Checked<TaskRequest>.self,
                checked: bytes[element]
            )
            tasks.append(task.moved(to: "/\(index)"))
        }
        self.tasks = tasks
        isBatch = true
    }
}
