import Logging
import Postgres
import Synchronization
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// The chores that take part in a removal, with intervals that no test outlives.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct RemovalTests {
    private final class Turns: Sendable {
        let count = Atomic(0)
    }

    private static let sessions = 2000
    /// The sessions that one page takes.
    private static let page = 100
    private static let never: Duration = .seconds(24 * 3600)

    /// Returns a tenant with many sessions, each with a task.
    private func largeTenant(_ fixture: EngineFixture) async throws -> TenantID {
        let tenant = try await fixture.anotherTenant("large")
        for number in 0..<Self.sessions {
            let session = "session-\(number)"
            _ = try await fixture.stores.sessions.putSession(
                tenant: tenant,
                identifier: session,
                configuration: SessionConfiguration()
            )
            _ = try await fixture.submit("http://localhost/", to: session, of: tenant) {
                $0.autostart = false
            }
        }
        return tenant
    }

    private func pruner(_ fixture: EngineFixture) throws -> Pruner {
        try Pruner(
            stores: EngineStores(fixture.stores.database),
            container: Container(directory: fixture.directory),
            retention: Pruner.Retention(
                events: Self.never,
                attempts: Self.never,
                sessions: Self.never
            ),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test func noPageOfARemovalWaitsForAnInterval() async throws {
        let fixture = try await EngineFixture()
        _ = try await largeTenant(fixture)
        let removals = fixture.stores.ownerRemovals
        #expect(try await removals.beginTenantRemoval(named: "large"))
        let pruner = try pruner(fixture)
        let turns = Turns()
        let own = pruner.chores.filter { $0.name == "removed tenants and clients" }
        let chores = own.map { chore in
            Chore(chore.name, every: Self.never, orAfter: chore.signal) {
                let turn = chore.makeTurn()
                return { () throws(StoreError) in
                    turns.count.add(1, ordering: .relaxed)
                    return try await turn()
                }
            }
        }
        #expect(chores.count == 1)
        try await fixture.withEngine(removals: pruner.removals) { configuration in
            configuration.heartbeatInterval = Self.never
            configuration.lease = Self.never
        } _: { _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Maintenance(chores: chores, logger: pruner.logger).run() }
                try await eventually("the tenant is gone", within: .seconds(240)) {
                    try await removals.ownersBeingRemoved().isEmpty
                }
                group.cancelAll()
            }
        }
        let pages = Self.sessions / Self.page
        // Each page follows an erasure, of which there may be two to a page; the last ones have
        // rows of other tables.
        #expect((pages...3 * pages).contains(turns.count.load(ordering: .relaxed)))
    }
}
