import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What tests of clients do to tasks.
@Suite(.postgresSchema) struct TestHookStoreTests {
    private func wish(_ fixture: StoreFixture, _ tasks: [TaskID]) async throws {
        for task in tasks {
            let result = try await fixture.stores.testHooks.failNextAttempt(
                of: task,
                tenant: fixture.tenant,
                with: #require(TestFailure(code: .timedOut, httpStatus: nil))
            )
            guard case .recorded = result else { throw CancellationError() }
        }
    }

    private func wishes(_ fixture: StoreFixture) async throws -> Int64 {
        try await fixture.count("SELECT count(*) FROM test_failure")
    }

    @Test func aWishGoesWithItsTask() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("hidden", kind: .ephemeral)
        let kept = try await fixture.submit(2)
        let hidden = try await fixture.submit(1, to: "hidden")
        try await wish(fixture, kept + hidden)
        #expect(try await wishes(fixture) == 3)
        let claims = try await fixture.claim()
        #expect(try await fixture.end(claims, .failed(StoreFixture.failure)).count == 3)
        #expect(try await wishes(fixture) == 3)
        try await fixture.stores.retention.expire([kept[0]])
        #expect(try await wishes(fixture) == 2)
        try await fixture.stores.erasure.erase(hidden)
        #expect(try await wishes(fixture) == 1)
        let left = try await fixture.stores.testHooks.takeFailures(of: claims)
        #expect(left.keys.elementsEqual([kept[1]]))
    }

    /// Each kind of wait has a moment at which it is over, and others' have theirs still.
    @Test func everyWaitEnds() async throws {
        let fixture = try await StoreFixture()
        let hooks = fixture.stores.testHooks
        func next() async throws -> TaskID { try await fixture.submit(1)[0] }
        let retrying = try await next()
        try await fixture.end(
            fixture.claim(),
            .retry(StoreFixture.failure, after: .seconds(3600))
        )
        let waiting = try await next()
        try await fixture.end(
            fixture.claim(),
            .waitForConnectivity(StoreFixture.failure, after: .seconds(3600))
        )
        let asking = try await next()
        let origin = Origin(scheme: "https", host: "origin.test", port: 443)
        try await fixture.end(
            fixture.claim(),
            .askForCredential(
                StoreFixture.failure,
                origin,
                named: nil,
                within: .seconds(3600)
            )
        )
        let ids = [retrying, waiting, asking]
        let states: [TransferState] = [
            .waitingForRetry, .waitingForConnectivity, .waitingForAuthentication,
        ]
        #expect(try await fixture.states(ids) == states)
        let other = TenantID(.version7())
        for id in ids { try await hooks.endWait(of: id, tenant: other) }
        #expect(try await fixture.stores.queue.promoteDue().promoted == 0)
        try await hooks.endWait(of: retrying, tenant: fixture.tenant)
        #expect(try await fixture.stores.queue.promoteDue().promoted == 1)
        #expect(try await fixture.states(ids) == [.queued] + states[1...])
        try await hooks.endWait(of: waiting, tenant: fixture.tenant)
        #expect(try await fixture.stores.queue.promoteDue().promoted == 1)
        #expect(try await fixture.stores.questions.failUnanswered() == 0)
        try await hooks.endWait(of: asking, tenant: fixture.tenant)
        #expect(try await fixture.stores.questions.failUnanswered() == 1)
        #expect(try await fixture.states(ids) == [.queued, .queued, .failed])
        try await fixture.checkInvariants()
    }
}
