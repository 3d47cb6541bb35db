import Testing

@testable import TransferHTTP

@Suite struct RefusalBudgetTests {
    private let start = ContinuousClock.now

    @Test func aFloodIsCountedAndToldOfOnce() {
        var budget = RefusalBudget()
        for _ in 0..<RefusalBudget.linesMax { #expect(budget.take(at: start) == 0) }
        let end = start + RefusalBudget.period
        for _ in 0..<7 { #expect(budget.take(at: end - .nanoseconds(1)) == nil) }
        #expect(budget.take(at: end) == 7)
        #expect(budget.take(at: end) == 0)
    }

    @Test func eachPeriodHasItsLines() {
        var budget = RefusalBudget()
        for period in 0..<3 {
            let now = start + RefusalBudget.period * period
            let written = (0..<500).filter { _ in budget.take(at: now) != nil }
            #expect(written.count == RefusalBudget.linesMax)
        }
    }
}
