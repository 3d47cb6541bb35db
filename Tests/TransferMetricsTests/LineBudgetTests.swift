import Testing
import TransferMetrics

@Suite struct LineBudgetTests {
    private let start = ContinuousClock.now

    @Test func aFloodIsCountedAndToldOfOnce() {
        var budget = LineBudget()
        for _ in 0..<LineBudget.linesMax { #expect(budget.take(at: start) == 0) }
        let end = start + LineBudget.period
        for _ in 0..<7 { #expect(budget.take(at: end - .nanoseconds(1)) == nil) }
        #expect(budget.take(at: end) == 7)
        #expect(budget.take(at: end) == 0)
    }

    @Test func eachPeriodHasItsLines() {
        var budget = LineBudget()
        for period in 0..<3 {
            let now = start + LineBudget.period * period
            let written = (0..<500).filter { _ in budget.take(at: now) != nil }
            #expect(written.count == LineBudget.linesMax)
        }
    }
}
