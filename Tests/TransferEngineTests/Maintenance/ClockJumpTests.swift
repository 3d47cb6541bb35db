import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// What a database's clock that was set ahead does to what is kept.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ClockJumpTests {
    @Test func resultsAreKeptUntilTheirTimeHasReallyPassed() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") {
            .file(.random(seed: 7, size: 1000), etag: #""v1""#, for: $0)
        }
        let jumped = try fixture.eagerPruner()
        // The clock shows forty days more than when it was read last.
        let past = Date() - 40 * 24 * 3600
        _ = jumped.removals.clock.note(past, asked: .now)
        let id = try await fixture.withEngine(removals: jumped.removals) { _ in
            let id = try await fixture.submit(fixture.origin.url("/file"))
            try await fixture.expectCompletion([id])
            return id
        }
        try await jumped.expireTasks()
        #expect(try await fixture.stores.tasks.task(tenant: fixture.tenant, id: id) != nil)
        let latest = try #require(jumped.removals.clock.latest)
        #expect(latest < past + 24 * 3600)
        try await fixture.eagerPruner().expireTasks()
        #expect(try await fixture.stores.tasks.task(tenant: fixture.tenant, id: id) == nil)
    }

    /// What ends by such a clock stays ended after it was put right.
    @Test func clientsAndTheirRunsEndWhenTheirTimeHasReallyPassed() async throws {
        let fixture = try await EngineFixture()
        let (stores, tenant) = (fixture.stores, fixture.tenant)
        let task = BackgroundTaskIdentifier(stored: "task")
        try await fixture.submitRequest(task)
        try await stores.advanceTimers()
        let listed = try await stores.runs.runs(of: .default, tenant: tenant, before: nil, limit: 1)
        let run = try #require(listed.first)
        try await fixture.submitRequest(BackgroundTaskIdentifier(stored: "other"))
        _ = try await stores.clients.enterBackground(tenant: tenant, id: .default)
        let aside = try await TestDatabase.current.connection()
        try await BackgroundClock(stores, aside).move(601)
        func turn(_ clock: SharedDatabaseClock) async throws -> Client.Lifecycle? {
            let watcher = TimerWatcher(
                timers: stores.timers,
                clock: clock,
                network: NetworkStatus(isProbed: false),
                isCapacityIdle: true,
                interval: .seconds(1),
                onEvents: {},
                onCancelled: {}
            )
            _ = try await watcher.turn()
            return try await stores.clients.client(tenant: tenant, id: .default)?.lifecycle
        }
        // The clock shows twenty minutes more than when it was read last.
        let jumped = SharedDatabaseClock(patience: .seconds(600))
        _ = jumped.note(Date() - 1200, asked: .now)
        let latest = try #require(jumped.latest)
        #expect(try #require(try await stores.timers.untilNextTimer(notAfter: latest)) > .zero)
        // Something else is due, so that the watcher looks at all kinds.
        _ = try await aside.execute(
            """
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            VALUES (gen_random_uuid(), 'request', \(tenant.uuid), now() - interval '1 day')
            """
        )
        #expect(try await turn(jumped) == .background)
        #expect(try await stores.timers.advanceClients(notAfter: latest) == 0)
        #expect(try await stores.timers.advanceRuns(notAfter: latest) == 0)
        #expect(try await stores.timers.dueRequests(notAfter: latest).isEmpty)
        // What is due by a time is judged by it.
        let earlier = Date() - 300
        let due = try await stores.timers.dueRequests(notAfter: earlier)
        #expect(due.map { $0.facts.now <= earlier + 1 } == [true])
        #expect(try await stores.runs.run(run.id, of: tenant)?.state == .launched)
        // One that was not read yet is believed.
        #expect(try await turn(SharedDatabaseClock(patience: .seconds(600))) == .suspended)
        #expect(try await stores.runs.run(run.id, of: tenant)?.state == .notAccepted)
    }

    @Test func theEngineReadsTheClockForThoseWhoRemove() async throws {
        let fixture = try await EngineFixture()
        let removals = Removals()
        try await fixture.withEngine(removals: removals) { _ in
            try await eventually("the clock was read") { removals.clock.latest != nil }
        }
    }
}
