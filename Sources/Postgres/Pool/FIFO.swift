/// A queue: append at the end and remove from the front, both in amortized O(1).
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }

    var isEmpty: Bool { count == 0 }

    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head].take()
        head += 1
        // Each element is moved at most once for every time that it was appended.
        if head * 2 >= elements.count, head >= 32 || head == elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Changes the first element in place; does nothing when there is none.
    mutating func updateFirst(_ change: (inout Element) -> Void) {
        guard var element = first else { return }
        elements[head] = nil
        change(&element)
        elements[head] = element
    }
}
