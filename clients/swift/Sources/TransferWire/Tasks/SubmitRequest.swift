/// The body of `POST …/tasks`: one task or an array of them.
public enum SubmitRequest {
    /// The maximum number of tasks in one request.
    public static let tasksMax = 1000

    /// Reads a body task by task, and keeps only what `take` makes of them: JSON that a task is to
    /// send needs up to a hundred times as much memory as a value as it does as text.
    ///
    /// `begin` is told whether the body is an array, and makes the value for `take`, which gets
    /// each task with its index; errors have their places within the task. When a task does not
    /// have a usual form, both are called again from the beginning.
    public static func read<Value>(
        json bytes: [UInt8],
        begin: (_ isBatch: Bool) -> Value,
        take: (inout Value, _ index: Int, _ task: Checked<TaskRequest>) -> Void
    ) throws(WireDecoder.Failure) -> Value {
        do throws(JSONReader.Refusal) {
            return try read(bytes, begin, take)
        } catch {
            return try decode(bytes, begin, take)
        }
    }

    /// Reads a body in which every task has a usual form.
    private static func read<Value>(
        _ bytes: [UInt8],
        _ begin: (_ isBatch: Bool) -> Value,
        _ take: (inout Value, _ index: Int, _ task: Checked<TaskRequest>) -> Void
    ) throws(JSONReader.Refusal) -> Value {
        var reader = try JSONReader(bytes)
        let isBatch = reader.beginArray()
        var value = begin(isBatch)
        if isBatch {
            var count = 0
            while try reader.nextElement() {
                guard count < tasksMax else { throw JSONReader.Refusal() }
                reader.beginTask()
                take(&value, count, Checked(try TaskRequest(from: &reader)))
                count += 1
            }
            guard count > 0 else { throw JSONReader.Refusal() }
        } else {
            take(&value, 0, Checked(try TaskRequest(from: &reader)))
        }
        try reader.finish()
        return value
    }

    /// Reads a body in any form, and says what is wrong with it.
    private static func decode<Value>(
        _ bytes: [UInt8],
        _ begin: (_ isBatch: Bool) -> Value,
        _ take: (inout Value, _ index: Int, _ task: Checked<TaskRequest>) -> Void
    ) throws(WireDecoder.Failure) -> Value {
        let elements = try WireDecoder.elements(of: bytes, max: tasksMax)
        var value = begin(elements != nil)
        guard let elements else {
            take(&value, 0, try Checked(checked: bytes[...]))
            return value
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
        for (index, element) in elements.enumerated() {
            take(&value, index, try Checked(checked: bytes[element]))
        }
        return value
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

    /// Reads a task in any form, whose bytes have been checked.
    fileprivate init(checked bytes: ArraySlice<UInt8>) throws(WireDecoder.Failure) {
        let read: Self
        do throws(WireDecoder.Failure) {
            read = try WireDecoder.decode(Self.self, checked: bytes)
        } catch .invalid(let fault) {
            self.init(fault: fault)
            return
        }
        if case .success = read.result, let place = JSONNames.repeated(in: bytes) {
            self.init(fault: .repeatedName(at: place))
        } else {
            self = read
        }
    }
}
