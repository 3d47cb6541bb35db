import Testing
import TransferStore
import TransferTestSupport

@testable import Postgres
@testable import TransferWebhooks

@Suite struct StoreWatchTests {
    @Test func tellsOfAnOutageOnceAndOfItsEnd() {
        let log = RecordingLog()
        let watch = OutageLog(logger: log.logger)
        watch.succeeded()
        for _ in 0..<2 {
            for _ in 0..<10 { watch.failed(.unavailable(PostgresError(.connectionFailed, "no"))) }
            for _ in 0..<10 { watch.succeeded() }
        }
        #expect(log.lines.map { $0.prefix(4) } == ["warn", "info", "warn", "info"])
    }
}
