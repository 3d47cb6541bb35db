/// The body of `POST …/tasks`: one task or an array of them.
public struct SubmitRequest: Sendable {
    /// The maximum number of tasks in one request.
    public static let tasksMax = 1000

    /// The tasks, each decoded on its own, in the order of the request; errors have their places
    /// within the task.
    public let tasks: [Checked<TaskRequest>]
    /// Whether the body was an array, so that the answer is one too.
    public let isBatch: Bool

    /// Reads a body.
    public init(json bytes: [UInt8]) throws(WireDecoder.Failure) {
        do throws(JSONReader.Refusal) {
            try self.init(reading: bytes)
        } catch {
            try self.init(decoding: bytes)
        }
    }

    /// Reads a body in which every task has a usual form.
    private init(reading bytes: [UInt8]) throws(JSONReader.Refusal) {
        var reader = try JSONReader(bytes)
        var tasks: [Checked<TaskRequest>] = []
        isBatch = reader.beginArray()
        if isBatch {
            while try reader.nextElement() {
                guard tasks.count < Self.tasksMax else { throw JSONReader.Refusal() }
                tasks.append(Checked(try TaskRequest(from: &reader)))
            }
        } else {
            tasks.append(Checked(try TaskRequest(from: &reader)))
        }
        try reader.finish()
        guard !tasks.isEmpty else { throw JSONReader.Refusal() }
        self.tasks = tasks
    }

    /// Decodes a body task by task.
    ///
    /// The values that a decoder makes of JSON are several times as large, so there are never more
    /// of them than those of one task.
    private init(decoding bytes: [UInt8]) throws(WireDecoder.Failure) {
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
        for element in elements {
            tasks.append(
                try WireDecoder.decode(Checked<TaskRequest>.self, checked: bytes[element])
            )
        }
        self.tasks = tasks
        isBatch = true
    }
}

extension Checked<TaskRequest> {
    /// Reads a text that is one task, such as a line of a stream.
    public init(json bytes: [UInt8]) throws(WireDecoder.Failure) {
        do throws(JSONReader.Refusal) {
            var reader = try JSONReader(bytes)
            let task = try TaskRequest(from: &reader)
            try reader.finish()
            self.init(task)
        } catch {
            self = try WireDecoder.decode(Self.self, from: bytes)
        }
    }
}
