import Foundation
import Logging
import Postgres
import ServiceLifecycle
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// A chore that fails, or never ends, holds up no other.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct MaintenanceTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Fails as a store that nobody can reach.
    private func refuse(_ fixture: EngineFixture) async throws(StoreError) {
        // PostgreSQL's text cannot hold NUL.
        _ = try await fixture.stores.workers.registerWorker(name: "\u{0}")
    }

    private func end(with error: StoreError?) throws(StoreError) {
        if let error { throw error }
    }

    private func whileRunning(
        _ chores: [Chore],
        logger: Logger? = nil,
        _ body: () async throws -> Void
    ) async throws {
        let maintenance = Maintenance(chores: chores, logger: logger ?? self.logger)
        let group = ServiceGroup(services: [maintenance], logger: self.logger)
        async let run: Void = group.run()
        try await body()
        await group.triggerGracefulShutdown()
        try await run
    }

    @Test func rescueComesFirst() async throws {
        let fixture = try await EngineFixture()
        try await fixture.withEngine { engine in
            #expect(engine.chores.first?.name == "rescue")
            #expect(Set(engine.chores.map(\.name)).count == engine.chores.count)
        }
    }

    @Test func aChoreThatFailsHoldsUpNoOther() async throws {
        let fixture = try await EngineFixture()
        let log = RecordingLog()
        let counts = Mutex<[String: Int]>([:])
        let others = ["before", "after", "long after"].map { name in
            Chore(name, every: .milliseconds(1)) { () throws(StoreError) in
                counts.withLock { $0[name, default: 0] += 1 }
                return .rest
            }
        }
        let failing = Chore("failing", every: .milliseconds(1)) { () throws(StoreError) in
            counts.withLock { $0["failing", default: 0] += 1 }
            try await refuse(fixture)
            return .rest
        }
        let stuck = Chore("stuck", every: .milliseconds(1)) { () throws(StoreError) in
            await WakeSignal().wait()
            return .rest
        }
        let chores = [others[0], failing, stuck, others[1], others[2]]
        try await whileRunning(chores, logger: log.logger) {
            try await eventually("all have had many turns") {
                counts.withLock { counts in
                    ["before", "failing", "after", "long after"].allSatisfy { counts[$0] ?? 0 > 20 }
                }
            }
        }
        // It is reported once, not with every turn.
        #expect(log.lines.count { $0.hasPrefix("warning") } == 1)
        #expect(log.lines.contains { $0.contains("what=failing") })
    }

    @Test func theLogIsToldWhatChanges() async throws {
        let fixture = try await EngineFixture()
        let log = RecordingLog()
        var failures = FailureLog("work", logger: log.logger)
        for _ in 0..<3 {
            _ = await failures.watch { () throws(StoreError) in try await refuse(fixture) }
        }
        #expect(log.lines.count == 1)
        for _ in 0..<3 {
            _ = await failures.watch { () throws(StoreError) in
                try end(with: .idempotencyKeyInUse)
            }
        }
        #expect(log.lines.count == 2)
        for _ in 0..<3 { _ = await failures.watch { () throws(StoreError) in try end(with: nil) } }
        #expect(log.lines.count == 3)
        #expect(log.lines.last?.hasPrefix("notice works again") == true)
    }

    /// The chores of an engine beside one that the database always refuses.
    @Test func aRefusedChoreOfAnEngineHoldsUpNoOther() async throws {
        let fixture = try await EngineFixture()
        let aside = try await TestDatabase.current.connection()
        let url = fixture.origin.url("/never")
        let asked = try await fixture.submit(url) { submission in
            submission.earliestBeginAt = Date() + 3600
            submission.options.asksToBegin = true
        }
        _ = try await aside.execute("UPDATE delayed SET due_at = now()")
        _ = try await fixture.stores.queue.promoteDue()
        _ = try await aside.execute("UPDATE asked SET until = now()")
        // Refused from now on, for every query for dead workers or old keys.
        _ = try await aside.execute("ALTER TABLE rename_run RENAME TO renames_away")
        _ = try await aside.execute("ALTER TABLE idempotency_key RENAME TO key_away")
        try await fixture.withEngine { configuration in
            configuration.heartbeatInterval = .milliseconds(20)
        } _: { _ in
            try await eventually("the question has failed") {
                let rows = try await aside.execute(
                    "SELECT 1 FROM outcome WHERE task_id = \(asked.uuid) AND state = 'failed'"
                )
                return !rows.isEmpty
            }
        }
        _ = try await aside.execute("ALTER TABLE renames_away RENAME TO rename_run")
        _ = try await aside.execute("ALTER TABLE key_away RENAME TO idempotency_key")
    }
}
