/// A binary min-heap: the smallest element in O(1), insertion and removal of it in O(log n).
struct Heap<Element: Comparable> {
    private var elements: [Element] = []

    var min: Element? { elements.first }

    var count: Int { elements.count }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeMin() {
        guard let last = elements.popLast(), !elements.isEmpty else { return }
        elements[0] = last
        siftDown(from: 0)
    }

    /// Removes the elements that satisfy `isUnwanted`, in O(n).
    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        elements.removeAll(where: isUnwanted)
        for parent in (0..<elements.count / 2).reversed() { siftDown(from: parent) }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < elements.count && elements[child] < elements[smallest] {
                smallest = child
            }
            guard smallest != parent else { return }
            elements.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
