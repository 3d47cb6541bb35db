import Testing
import TransferModel

@testable import TransferStore

/// The text that measurements of an attempt are stored as.
@Suite struct StoredMetricsTests {
    @Test func eachNumberAndWordComesBack() throws {
        var metrics = AttemptMetrics()
        // What was measured is kept, also where it makes no sense.
        metrics.fetchStart = .microseconds(-1_234_567)
        metrics.total = .microseconds(10)
        metrics.requestHeaderBytes = .min
        metrics.responseBodyBytes = .max
        metrics.redirects = 7
        metrics.httpStatus = 200
        metrics.isConnectionReused = true
        metrics.httpVersion = "2"
        metrics.localAddress = "::1"
        let text = StoredMetrics.text(of: metrics)
        #expect(
            text == """
                -1234567 0 0 0 0 0 0 10 -9223372036854775808 0 0 9223372036854775807 7 1 200 0 0 1\u{20}
                2

                ::1
                """
        )
        #expect(try StoredMetrics.metrics(text) == metrics)
    }
}
