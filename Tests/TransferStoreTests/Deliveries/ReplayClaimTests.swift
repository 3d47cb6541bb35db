import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Who has the replays of a subscription, and for how long.
@Suite(.postgresSchema) struct ReplayClaimTests {
    private static let lease: Duration = .seconds(600)

    /// Returns a subscription with `count` dead messages, all of which are to be sent again.
    private func recovering(_ count: Int, _ fixture: StoreFixture) async throws -> SubscriptionID {
        let id = try await fixture.subscribe()
        try await fixture.submit(count)
        for _ in 0..<count {
            for claim in try await fixture.claimDeliveries() {
                _ = try await fixture.fail(claim, retryAfter: nil)
            }
        }
        let recovered = try await fixture.stores.deliveryLog.recover(
            tenant: fixture.tenant,
            subscription: id,
            since: .distantPast,
            until: nil
        )
        #expect(recovered == count)
        return id
    }

    private func claim(
        _ id: SubscriptionID,
        _ fixture: StoreFixture,
        lease: Duration = Self.lease
    ) async throws -> ReplayClaim? {
        try await fixture.stores.deliveryLog.claimReplays(
            of: id,
            fixture.worker.reserve(1),
            limit: 1,
            lease: lease
        ).claims.first
    }

    @Test func theReplaysOfASubscriptionAreClaimedOneAfterAnother() async throws {
        let fixture = try await StoreFixture()
        let id = try await recovering(2, fixture)
        let first = try #require(try await claim(id, fixture))
        #expect(first.sequence == 1)
        // Another instance would overtake it with the second.
        let early = try await claim(id, fixture)
        #expect(early == nil)
        let taken = StoreFixture.attempt(status: 200, reason: nil, isReplay: true)
        #expect(try await fixture.stores.deliveryLog.recordReplayed(first, taken))
        let second = try await claim(id, fixture)
        #expect(second?.sequence == 2)
    }

    @Test func aReplayThatIsJustBeingClaimedIsNotOvertakenEither() async throws {
        let fixture = try await StoreFixture()
        let id = try await recovering(2, fixture)
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute("SELECT 1 FROM delivery_log WHERE sequence = 1 FOR UPDATE")
        let early = try await claim(id, fixture)
        #expect(early == nil)
        _ = try await other.execute("COMMIT")
        await other.close()
        let first = try await claim(id, fixture)
        #expect(first?.sequence == 1)
    }

    @Test func whatAnInstanceHadThatDiedComesFirst() async throws {
        let fixture = try await StoreFixture()
        let id = try await recovering(2, fixture)
        let lost = try #require(try await claim(id, fixture, lease: .zero))
        #expect(lost.sequence == 1)
        let again = try #require(try await claim(id, fixture))
        #expect(again.sequence == 1)
        let isRenewed = try await fixture.stores.deliveryLog.renewReplay(lost, lease: Self.lease)
        #expect(!isRenewed)
    }

    @Test func aClaimIsRenewedWhileItsSubscriptionIsTheSame() async throws {
        let fixture = try await StoreFixture()
        let id = try await recovering(1, fixture)
        let stores = fixture.stores
        let held = try #require(try await claim(id, fixture, lease: .zero))
        let isRenewed = try await stores.deliveryLog.renewReplay(held, lease: Self.lease)
        #expect(isRenewed)
        let early = try await claim(id, fixture)
        #expect(early == nil)
        _ = try await stores.subscriptions.rotateSecret(
            tenant: fixture.tenant,
            id: id,
            to: .random(),
            othersExpireAt: Date(timeIntervalSince1970: 0)
        )
        let isOutdated = try await !stores.deliveryLog.renewReplay(held, lease: Self.lease)
        #expect(isOutdated)
        try await stores.deliveryLog.returnReplays([held])
        let next = try #require(try await claim(id, fixture))
        #expect(next.version != held.version)
        _ = try await stores.subscriptions.deleteSubscription(tenant: fixture.tenant, id: id)
        let isAfterTheEnd = try await stores.deliveryLog.renewReplay(next, lease: Self.lease)
        #expect(!isAfterTheEnd)
    }
}
