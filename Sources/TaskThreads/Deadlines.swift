import HeapModule

/// Values that are due at given times, in the order of these times.
struct Deadlines<Value> {
    private struct Entry: Comparable {
        let time: UInt64
        let number: UInt64
        let value: Value

        static func < (left: Entry, right: Entry) -> Bool {
            (left.time, left.number) < (right.time, right.number)
        }

        static func == (left: Entry, right: Entry) -> Bool { left.number == right.number }
    }

    private var entries = Heap<Entry>()
    private var count: UInt64 = 0

    /// The next time at which a value is due.
    var next: UInt64? { entries.min?.time }

    /// Adds a value; those of one time stay in the order in which they came.
    mutating func add(_ value: Value, at time: UInt64) {
        entries.insert(Entry(time: time, number: count, value: value))
        count += 1
    }

    /// Removes the values that are due at `now`, and returns them in their order.
    mutating func removeDue(at now: UInt64) -> [Value] {
        var due: [Value] = []
        while let next, next <= now, let entry = entries.popMin() { due.append(entry.value) }
        return due
    }
}
