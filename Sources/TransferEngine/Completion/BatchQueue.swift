import Synchronization

/// A collection of elements from many threads that one task takes in groups.
final class BatchQueue<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    private let arrival = WakeSignal()

    func append(_ element: Element) {
        elements.withLock { $0.append(element) }
        arrival.signal()
    }

    func append(contentsOf new: [Element]) {
        guard !new.isEmpty else { return }
        elements.withLock { $0 += new }
        arrival.signal()
    }

    var isEmpty: Bool { elements.withLock(\.isEmpty) }

    /// Waits for elements, then takes the oldest up to `limit`; empty only when cancelled.
    func next(limit: Int) async -> [Element] {
        while true {
            let batch = elements.withLock { elements in
                let batch = Array(elements.prefix(limit))
                elements.removeFirst(batch.count)
                return batch
            }
            guard batch.isEmpty, !Task.isCancelled else { return batch }
            await arrival.wait()
        }
    }
}
