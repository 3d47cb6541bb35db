import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The cost of reporting expired events, which does not depend on the number of subscriptions,
/// sessions and events.
@Suite(.postgresDatabase) struct DeliveryExpiryPlanTests {
    private static let pagesMax: Int64 = 400

    @Test(arguments: [false, true])
    func tellingIsLookedUpWhateverItWasPlannedFor(isAnalyzed: Bool) async throws {
        let fixture = try await StoreFixture()
        let meter = PageMeter()
        try await meter.holdStatistics()
        try await fixture.subscribe()
        try await fixture.subscribe(session: StoreFixture.identifier)
        try await fixture.submit(2)
        _ = try await fixture.aside.execute(Query.expireEvents(where: "last_sequence = 1"))
        let claims = try await fixture.claimDeliveries()
        #expect(claims.count == 2)
        func tell(_ stores: Stores) async throws {
            for claim in claims {
                #expect(try await stores.deliveries.recordExpired(claim, lease: .seconds(60)) == 1)
            }
        }
        if !isAnalyzed { _ = try await meter.pages(tell) }
        let filling: [Query] = [
            """
            INSERT INTO tenant (id, name)
            SELECT gen_random_uuid(), 'of ' || i FROM generate_series(1, 1000) AS i
            """,
            """
            INSERT INTO subscription (id, tenant_id, url)
            SELECT gen_random_uuid(), t.id, 'https://hook.test/'
            FROM tenant t CROSS JOIN generate_series(1, 20) WHERE t.id <> \(fixture.tenant.uuid)
            """,
            """
            INSERT INTO session_progress (session_id, last_sequence)
            SELECT gen_random_uuid(), 1 FROM generate_series(1, 20000)
            """,
            """
            INSERT INTO event_run (session_id, last_sequence, first_sequence, kind, generation)
            SELECT session_id, 1, 1, 'session.invalidated', 0 FROM session_progress
            WHERE last_sequence = 1
            """,
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence)
            SELECT (SELECT id FROM subscription ORDER BY id LIMIT 1), session_id, 1
            FROM session_progress
            ON CONFLICT DO NOTHING
            """,
            """
            INSERT INTO delivery_log (id, subscription_id, session_id, sequence, state)
            SELECT gen_random_uuid(), subscription_id, session_id, 2, 'delivered' FROM delivery
            """,
        ]
        for query in filling { _ = try await fixture.aside.execute(query) }
        if isAnalyzed { _ = try await fixture.aside.execute("ANALYZE") }
        let pages = try await meter.pagesOfRelations(tell)
        #expect(
            pages.values.reduce(0, +) <= Self.pagesMax * Int64(claims.count),
            "\(pages.sorted { $0.value > $1.value }.prefix(5))"
        )
    }
}
