/// The body of `POST …/tasks`: one task or an array of them.
public enum SubmitRequest {
    /// The maximum number of tasks in one request.
    public static let tasksMax = 1000

    /// Reads a body task by task, and keeps none of them: JSON that a task is to send needs up to
    /// seventeen times as much memory as a value as it does as text.
    ///
    /// `take` gets each task with its place in the array, nil without one; errors have their places
    /// within the task. Reading begins again with the first task when one does not have a usual form.
    public static func read(
        json bytes: [UInt8],
        _ take: (_ place: Int?, _ task: Checked<TaskRequest>) -> Void
    ) throws(WireDecoder.Failure) {
        do throws(JSONReader.Refusal) {
            try read(bytes, take)
        } catch {
            try decode(bytes, take)
        }
    }

    /// Reads a body in which every task has a usual form.
    private static func read(
        _ bytes: [UInt8],
        _ take: (_ place: Int?, _ task: Checked<TaskRequest>) -> Void
    ) throws(JSONReader.Refusal) {
        var reader = try JSONReader(bytes)
        guard reader.beginArray() else {
            take(nil, Checked(try TaskRequest(from: &reader)))
            return try reader.finish()
        }
        var count = 0
        while try reader.nextElement() {
            guard count < tasksMax else { throw JSONReader.Refusal() }
            reader.beginTask()
            take(count, Checked(try TaskRequest(from: &reader)))
            count += 1
        }
        try reader.finish()
        guard count > 0 else { throw JSONReader.Refusal() }
    }

    /// Decodes a body task by task.
    ///
    /// The values that a decoder makes of JSON are several times as large, so there are never more
    /// of them than those of one task.
    private static func decode(
        _ bytes: [UInt8],
        _ take: (_ place: Int?, _ task: Checked<TaskRequest>) -> Void
    ) throws(WireDecoder.Failure) {
        guard let elements = try WireDecoder.elements(of: bytes, max: tasksMax) else {
            return take(
                nil,
                try WireDecoder.decode(Checked<TaskRequest>.self, checked: bytes[...])
            )
        }
        guard elements.count <= tasksMax else {
            throw .invalid(
                FieldError(
                    pointer: "",
                    .tooManyItems,
                    "At most \(tasksMax) tasks fit in one request."
                )
            )
        }
        guard !elements.isEmpty else {
            throw .invalid(
                FieldError(pointer: "", .noItems, "An array needs at least one task.")
            )
        }
        for (place, element) in elements.enumerated() {
            take(
                place,
                try WireDecoder.decode(Checked<TaskRequest>.self, checked: bytes[element])
            )
        }
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
