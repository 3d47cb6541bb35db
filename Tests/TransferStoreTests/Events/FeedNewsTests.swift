import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The statements that write events and move no task, each where nothing else says that there is
/// something new.
@Suite(.postgresSchema) struct FeedNewsTests {
    @Test func everyStatementSaysWhereItsEventsAre() async throws {
        let fixture = try await StoreFixture()
        func expectFed(_ what: String) async throws {
            _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
            let missing = try await fixture.count(
                """
                SELECT count(*) AS count FROM session_progress p
                LEFT JOIN feed_session f USING (session_id)
                WHERE p.last_sequence > coalesce(f.last_sequence, 0)
                """
            )
            #expect(missing == 0, "after \(what)")
            while try await fixture.stores.counts.foldMoves() > 0 {}
        }
        for name in ["finished", "invalidated"] { try await fixture.putSession(name) }
        try await fixture.subscribe()
        try await fixture.submit(1)
        let claim = try await fixture.claim()[0]
        try await expectFed("the preparation")
        let progress = AttemptProgress(
            task: claim.task,
            fence: claim.fence,
            bytesReceived: 10,
            bytesExpected: 1000,
            isTold: true
        )
        #expect(try await fixture.stores.parts.recordProgress([progress]))
        try await expectFed("progress")
        _ = try await fixture.stores.sessions.finishSession(
            tenant: fixture.tenant,
            identifier: "finished"
        )
        try await expectFed("the end of a session")
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "invalidated"
        )
        try await expectFed("an invalidation")
        _ = try await fixture.stores.clients.terminate(tenant: fixture.tenant, id: .default)
        try await expectFed("a client's event")
        let delivery = try #require(try await fixture.claimDeliveries().first)
        #expect(try await fixture.fail(delivery, isGone: true) == .disabled)
        try await expectFed("a disabled subscription")
        let page = try await fixture.stores.events.feed(of: fixture.tenant, after: 0, limit: 100)
        let told: Set<SessionEvent.Kind> = [
            .taskProgress, .sessionInvalidated, .clientLifecycleChanged, .subscriptionDisabled,
        ]
        #expect(Set(page.events.map(\.event.kind)).isSuperset(of: told))
    }
}
