import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Tasks that belong to their submitters from the start.
@Suite(.postgresSchema) struct SubmissionLeaseTests {
    private func lease(
        _ token: LeaseToken = LeaseToken(UUID()),
        owner: String? = nil
    ) -> SubmissionLease {
        SubmissionLease(token: token, owner: owner, seconds: 60)
    }

    private func submit(
        _ count: Int,
        _ fixture: StoreFixture,
        _ lease: SubmissionLease?
    ) async throws -> [TaskID] {
        let tasks = StoreFixture.submissions(count)
        let result = try await fixture.stores.submissions.submit(
            tasks,
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier,
            lease: lease
        )
        guard case .accepted = result else {
            Issue.record("\(result)")
            return []
        }
        return tasks.map(\.id)
    }

    private func reconnect(_ fixture: StoreFixture) async throws -> [TaskID] {
        try await fixture.stores.sessions.reconnect(
            try await fixture.session().id,
            owner: nil,
            time: .seconds(60),
            after: nil,
            limit: 1000
        ).items.map(\.id)
    }

    @Test func aReconnectionLeavesThemAndTakesTheOthers() async throws {
        let fixture = try await StoreFixture()
        let mine = lease(owner: "pod-1")
        let owned = try await submit(3, fixture, mine)
        let free = try await submit(2, fixture, nil)
        #expect(try await reconnect(fixture) == free)
        let sessions = fixture.stores.sessions
        #expect(try await sessions.leasedTasks(tenant: fixture.tenant, mine.token) == 3)
        let renewed = try await sessions.renewLease(
            tenant: fixture.tenant,
            mine.token,
            for: .seconds(3600)
        )
        #expect(renewed?.tasks == 3)
        #expect(try await sessions.releaseLease(tenant: fixture.tenant, mine.token))
        #expect(try await reconnect(fixture) == owned)
        try await fixture.checkInvariants()
    }

    @Test func theirLeaseEndsLikeAnyOther() async throws {
        let fixture = try await StoreFixture()
        let owned = try await submit(2, fixture, lease())
        _ = try await fixture.aside.execute(
            "UPDATE task_owner SET expires_at = clock_timestamp() - interval '1 s'"
        )
        #expect(try await reconnect(fixture) == owned)
    }

    /// Requests of one group have leases of their own, and some have none.
    @Test func requestsThatShareATransactionKeepTheirLeases() async throws {
        let fixture = try await StoreFixture()
        let tokens = (0..<6).map { _ in LeaseToken(UUID()) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for token in tokens {
                group.addTask {
                    _ = try await submit(2, fixture, lease(token))
                    _ = try await submit(1, fixture, nil)
                }
            }
            try await group.waitForAll()
        }
        for token in tokens {
            let count = try await fixture.stores.sessions.leasedTasks(
                tenant: fixture.tenant,
                token
            )
            #expect(count == 2)
        }
        #expect(try await reconnect(fixture).count == 6)
    }

    /// Otherwise the hot path would pay for what it does not use.
    @Test func withoutALeaseNothingIsWrittenOfIt() async throws {
        let fixture = try await StoreFixture()
        _ = try await submit(5, fixture, nil)
        let rows = try await fixture.aside.execute("SELECT count(*) AS count FROM task_owner")
        #expect(try rows.first?.decode("count", as: Int64.self) == 0)
    }
}
