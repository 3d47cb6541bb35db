import Testing

@testable import PollLoop

@Suite
struct HeapTests {
    @Test func givesElementsInOrder() {
        var heap = Heap<Int>()
        let numbers = (0..<500).map { ($0 * 7919) % 500 }
        for number in numbers { heap.insert(number) }
        #expect(drain(&heap) == numbers.sorted())
    }

    @Test func staysInOrderWhenSomeAreRemoved() {
        var heap = Heap<Int>()
        for number in 0..<500 { heap.insert((number * 7919) % 500) }
        heap.removeAll { $0 % 3 != 0 }
        #expect(heap.count == 167)
        #expect(drain(&heap) == (0..<500).filter { $0 % 3 == 0 })
    }

    @Test func removingFromEmptyHeapChangesNothing() {
        var heap = Heap<Int>()
        heap.removeMin()
        #expect(heap.min == nil)
    }

    private func drain(_ heap: inout Heap<Int>) -> [Int] {
        var drained: [Int] = []
        while let smallest = heap.min {
            drained.append(smallest)
            heap.removeMin()
        }
        return drained
    }
}
