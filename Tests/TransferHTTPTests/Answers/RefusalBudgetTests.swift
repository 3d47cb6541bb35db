import Logging
import Testing
import TransferTestSupport

@testable import TransferHTTP

@Suite(.timeLimit(.minutes(2))) struct RefusalBudgetTests {
    private let start = ContinuousClock.now

    @Test func aFloodIsCountedAndToldOfOnce() {
        var budget = RefusalBudget()
        for _ in 0..<RefusalBudget.linesMax { #expect(budget.take(at: start) == 0) }
        let end = start + RefusalBudget.period
        for _ in 0..<7 { #expect(budget.take(at: end - .nanoseconds(1)) == nil) }
        #expect(budget.take(at: end) == 7)
        #expect(budget.take(at: end) == 0)
    }

    @Test func failuresAreCountedByTheirStatus() {
        let log = RecordingLog()
        let errors = ServerErrorLog(log.logger)
        for _ in 0..<1000 { errors.add(status: 503, ["status": "503"], at: start) }
        #expect(log.lines.count == RefusalBudget.linesMax)
        // A defect is not hidden by an outage.
        errors.add(status: 500, ["status": "500"], at: start)
        #expect(log.lines.last == "error request failed status=500")
        errors.add(status: 503, ["status": "503"], at: start + RefusalBudget.period)
        #expect(log.lines.last == "error request failed status=503 unwritten_before=900")
    }

    @Test func whoeverIsWithoutAKeyFillsNoLog() async throws {
        let log = RecordingLog()
        let probes = ProbeAPI(
            health: .fixture(readiness: .notReady(reason: "starting"), isDatabaseUp: false),
            logger: log.logger
        )
        try await APIServer.serving(
            by: { probes.application(host: "127.0.0.1", port: 0, onServerRunning: $0) }
        ) { port in
            func errors() -> Int { log.lines.filter { $0.hasPrefix("error ") }.count }
            let client = HTTPClient(port: port)
            func status(_ path: String) async throws -> Int {
                try await client.exchange(
                    HTTPClient.request("GET", path, fields: [], body: nil)
                ).status
            }
            for path in ["/readyz", "/health"] {
                let answered = try await status(path)
                #expect(answered == 503)
            }
            let before = errors()
            #expect(before == 0)
            let begin = ContinuousClock.now
            for _ in 0..<300 {
                let answered = try await status("/v1/sessions")
                #expect(answered == 503)
            }
            // On a machine so slow that it takes several periods, each has its lines.
            let periods = Int((.now - begin) / RefusalBudget.period) + 1
            let written = errors()
            #expect(written <= periods * RefusalBudget.linesMax)
        }
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
