import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The plans of claims.
///
/// A plan is made once for each connection, and a new installation makes all of them while its
/// tables are almost empty.
@Suite(.postgresDatabase) struct ClaimPlanTests {
    private static let tasksWhenPlanned = 20
    private static let tasks = 20_000
    private static let claimed = 16
    private static let pagesMaxOfTask: Int64 = 40

    @Test(arguments: [false, true])
    func aClaimReadsTheTasksThatItTakesWhateverItWasPlannedFor(isBound: Bool) async throws {
        let fixture = try await StoreFixture()
        let meter = PageMeter()
        try await meter.holdStatistics()
        if isBound {
            _ = try await fixture.stores.tenants.limitTenant(
                named: "test",
                changes: TenantLimitChanges(runningTasksMax: 1000)
            )
        }
        let session = try await fixture.session().id
        let grant = FlowGrant(
            flow: Flow(hostKey: StoreFixture.hostKey, session: session),
            count: Self.claimed,
            from: FlowPosition(
                priority: TaskPriority(rank: 0),
                task: TaskID(.version7(at: .distantPast))
            )
        )
        func claim(_ stores: Stores) async throws {
            let claims = try await stores.queue.claim(
                [grant],
                boundTenants: isBound ? [fixture.tenant] : [],
                fences: fixture.worker.reserve(Self.claimed)
            )
            #expect(claims.count == Self.claimed)
        }
        try await fixture.submit(Self.tasksWhenPlanned)
        _ = try await meter.pages(claim)
        for _ in 0..<Self.tasks / 1000 { try await fixture.submit(1000) }
        let pages = try await meter.pages(claim)
        #expect(pages <= Self.pagesMaxOfTask * Int64(Self.claimed))
    }
}
