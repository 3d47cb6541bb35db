import Foundation
import Logging
import Testing
import TransferMetrics
import TransferModel
import TransferTestSupport

@testable import TransferHTTP

@Suite(.timeLimit(.minutes(2))) struct RefusalBudgetsTests {
    private let start = ContinuousClock.now

    @Test func failuresAreCountedByTheirStatus() {
        let log = RecordingLog()
        let errors = ServerErrorLog(log.logger)
        for _ in 0..<1000 { errors.add(status: 503, ["status": "503"], at: start) }
        #expect(log.lines.count == LineBudget.linesMax)
        // A defect is not hidden by an outage.
        errors.add(status: 500, ["status": "500"], at: start)
        #expect(log.lines.last == "error request failed status=500")
        errors.add(status: 503, ["status": "503"], at: start + LineBudget.period)
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
            let periods = Int((.now - begin) / LineBudget.period) + 1
            let written = errors()
            #expect(written <= periods * LineBudget.linesMax)
        }
    }

    @Test func aTenantHidesNoneOfAnother() {
        var budgets = RefusalBudgets()
        let (loud, quiet) = (TenantID(.version7()), TenantID(.version7()))
        func isWritten(_ tenant: TenantID?) -> Bool {
            budgets.take(for: tenant, at: start) != nil
        }
        for _ in 0..<LineBudget.linesMax {
            let areWritten = [isWritten(nil), isWritten(loud)]
            #expect(areWritten == [true, true])
        }
        let further = [loud, loud, loud, nil, quiet].map(isWritten)
        #expect(further == [false, false, false, false, true])
        let end = start + LineBudget.period
        let line = budgets.take(for: loud, at: end)
        #expect(line?.unwritten == 3 && line?.tenant == loud)
        let ended = budgets.takeEnded(at: end)
        #expect(ended.map { $0.unwritten } == [1])
        #expect(ended.map { $0.tenant } == [nil])
    }

    @Test func tenantsForWhichThereIsNoRoomShareABudget() {
        var budgets = RefusalBudgets()
        for _ in 0..<RefusalBudgets.countMax {
            _ = budgets.take(for: TenantID(.version7()), at: start)
        }
        let late = (0...LineBudget.linesMax).map { _ in TenantID(.version7()) }
        let written = late.filter { budgets.take(for: $0, at: start) != nil }
        #expect(written == Array(late.dropLast()))
        // The next period has room, and nothing is lost of the count.
        let end = start + LineBudget.period
        let line = budgets.take(for: late.last, at: end)
        #expect(line?.tenant == late.last)
        let ended = budgets.takeEnded(at: end)
        #expect(ended.map { $0.unwritten } == [1])
    }

    @Test(.postgresSchema) func whoeverIsWithoutAKeyHidesNoRefusalOfATenantInTheLog() async throws {
        let log = RecordingLog()
        try await APIServer.run(logger: log.logger) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<LineBudget.linesMax + 20 {
                    group.addTask { _ = try await server.sendPlain("GET", "/v1/tenant") }
                }
                try await group.waitForAll()
            }
            let reader = try await server.holder([.read])
            #expect(try await server.send("GET", "/v1/keys", as: reader).status == 403)
            #expect(log.lines.contains { $0.hasPrefix("notice request refused code=insufficient") })
        }
    }
}
