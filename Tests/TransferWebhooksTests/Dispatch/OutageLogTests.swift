import Testing
import TransferStore
import TransferTestSupport

@testable import Postgres
@testable import TransferWebhooks

@Suite struct OutageLogTests {
    @Test func tellsOfAnOutageOnceAndOfItsEnd() {
        let log = RecordingLog()
        let outages = OutageLog(logger: log.logger)
        outages.succeeded()
        for _ in 0..<2 {
            for _ in 0..<10 { outages.failed(.unavailable(PostgresError(.connectionFailed, "no"))) }
            for _ in 0..<10 { outages.succeeded() }
        }
        #expect(log.lines.map { $0.prefix(4) } == ["warn", "info", "warn", "info"])
    }
}
