import Foundation
import Logging
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// What a database's clock that was set ahead does to what is kept.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ClockJumpTests {
    /// Returns a pruner for which all tasks have ended too long ago.
    private func pruner(_ fixture: EngineFixture) throws -> Pruner {
        var settings = StoreSettings()
        settings.resultRetention = .seconds(-60)
        return try Pruner(
            stores: EngineStores(
                Database(pool: TestDatabase.current.pool(), settings: settings)
            ),
            container: Container(directory: fixture.directory),
            retention: Pruner.Retention(
                events: .seconds(30 * 24 * 3600),
                attempts: .seconds(30 * 24 * 3600),
                sessions: .seconds(30 * 24 * 3600)
            ),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test func resultsAreKeptUntilTheirTimeHasReallyPassed() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") {
            .file(.random(seed: 7, size: 1000), etag: #""v1""#, for: $0)
        }
        let jumped = try pruner(fixture)
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
        try await pruner(fixture).expireTasks()
        #expect(try await fixture.stores.tasks.task(tenant: fixture.tenant, id: id) == nil)
    }

    @Test func theEngineReadsTheClockForThoseWhoRemove() async throws {
        let fixture = try await EngineFixture()
        let removals = RemovalSignals()
        try await fixture.withEngine(removals: removals) { _ in
            try await eventually("the clock was read") { removals.clock.latest != nil }
        }
    }
}
