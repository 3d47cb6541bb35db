import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Rows that this release cannot read hold up no others.
@Suite(.postgresSchema) struct UnreadableSubscriptionTests {
    /// Makes a subscription such that it cannot be read, as if a later release had written it.
    private func spoil(_ id: SubscriptionID, _ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            "UPDATE subscription SET headers = '{\"of\": [\"the future\"]}' WHERE id = \(id.uuid)"
        )
    }

    @Test func aClaimPutsOffItsDeliveriesAndReturnsTheOthers() async throws {
        let fixture = try await StoreFixture()
        let ids = [try await fixture.subscribe(), try await fixture.subscribe()]
        for session in ["a", "b"] {
            try await fixture.putSession(session)
            try await fixture.submit(1, to: session)
        }
        try await spoil(ids[0], fixture)
        let due = try await fixture.stores.deliveries.claimDeliveries(
            fixture.worker.reserve(10),
            limit: 10,
            lease: .seconds(600)
        )
        #expect(due.unreadable == [ids[0]])
        #expect(due.examined == 4)
        #expect(due.claims.map(\.subscription) == [ids[1], ids[1]])
        #expect(
            try await fixture.count(
                """
                SELECT count(*) AS count FROM delivery
                WHERE subscription_id = \(ids[0].uuid) AND worker IS NULL AND fence IS NULL
                    AND due_at BETWEEN now() + interval '50 s' AND now() + interval '130 s'
                """
            ) == 2
        )
        // Whoever can read it again delivers it.
        _ = try await fixture.aside.execute("UPDATE subscription SET headers = '[]'")
        try await fixture.makeDeliveriesDue()
        #expect(try await fixture.claimDeliveries().count { $0.subscription == ids[0] } == 2)
    }

    @Test func aClaimOfReplaysPutsThemOffAndReturnsTheOthers() async throws {
        let fixture = try await StoreFixture()
        let ids = [try await fixture.subscribe(), try await fixture.subscribe()]
        try await fixture.submit()
        for claim in try await fixture.claimDeliveries() {
            _ = try await fixture.fail(claim, retryAfter: nil)
        }
        for id in ids {
            let dead = try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant)
            for delivery in dead {
                _ = try await fixture.stores.deliveryLog.replay(
                    tenant: fixture.tenant,
                    id: delivery.id
                )
            }
        }
        try await spoil(ids[0], fixture)
        var due: [DueReplays] = []
        for id in [ids[0], ids[1], ids[0]] {
            due.append(
                try await fixture.stores.deliveryLog.claimReplays(
                    of: id,
                    fixture.worker.reserve(10),
                    limit: 10,
                    lease: .seconds(600)
                )
            )
        }
        #expect(due[0].unreadable == [ids[0]])
        #expect(due[0].claims.isEmpty)
        #expect(due[1].claims.map(\.subscription) == [ids[1]])
        #expect(due[2].isEmpty)
        #expect(
            try await fixture.count(
                """
                SELECT count(*) AS count FROM delivery_log
                WHERE subscription_id = \(ids[0].uuid) AND replay_due_at > now()
                    AND replay_fence IS NULL
                """
            ) == 1
        )
    }
}
