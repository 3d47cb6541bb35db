import Logging
import Testing
import TransferMetrics
import TransferTestSupport

@testable import TransferWebhooks

@Suite struct DeliveryFailureLogTests {
    @Test func receiversThatAreAwayFillNoLog() {
        let log = RecordingLog()
        let failures = DeliveryFailureLog(logger: log.logger)
        let start = ContinuousClock.now
        for number in 0..<1000 {
            failures.add("webhook not delivered", ["attempt": "\(number)"], at: start)
        }
        #expect(log.lines.count == LineBudget.linesMax)
        failures.add("webhook given up", [:], at: start + LineBudget.period)
        #expect(log.lines.last == "notice webhook given up unwritten_before=900")
    }
}
