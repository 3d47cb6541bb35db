import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// When deliveries return that nobody can be given.
@Suite(.postgresSchema) struct DeliveryPauseTests {
    /// As many as there are would otherwise come before those of all others, every hour.
    @Test func thoseOfADisabledSubscriptionDoNotReturnTogether() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        for number in 0..<20 {
            try await fixture.putSession("session-\(number)")
            try await fixture.submit(to: "session-\(number)")
        }
        var change = SubscriptionChange()
        change.isEnabled = false
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
        #expect(try await fixture.claimDeliveries().isEmpty)
        let early: Query = """
            SELECT count(*) AS count FROM delivery
            WHERE due_at < now() + interval '29 minutes' OR due_at > now() + interval '91 minutes'
            """
        #expect(try await fixture.count(early) == 0)
        let isSpread: Query = """
            SELECT count(*) AS count FROM (
                SELECT 1 FROM delivery HAVING max(due_at) - min(due_at) > interval '1 minute') d
            """
        #expect(try await fixture.count(isSpread) == 1)
    }
}
