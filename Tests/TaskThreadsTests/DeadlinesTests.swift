import Testing

@testable import TaskThreads

@Suite struct DeadlinesTests {
    @Test func valuesAreDueInTheOrderOfTheirTimes() {
        var deadlines = Deadlines<Int>()
        #expect(deadlines.next == nil)
        for time in [30, 10, 40, 20] { deadlines.add(time, at: UInt64(time)) }
        #expect(deadlines.next == 10)
        #expect(deadlines.removeDue(at: 9) == [])
        #expect(deadlines.removeDue(at: 30) == [10, 20, 30])
        #expect(deadlines.next == 40)
        #expect(deadlines.removeDue(at: .max) == [40])
        #expect(deadlines.next == nil)
    }

    @Test func valuesOfOneTimeStayInTheirOrder() {
        var deadlines = Deadlines<Int>()
        for value in 0..<100 { deadlines.add(value, at: 7) }
        #expect(deadlines.removeDue(at: 7) == Array(0..<100))
    }
}
