import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The events that tell a client that tasks of a session wait for it.
@Suite(.postgresSchema) struct PendingTests {
    private static let origin = Origin(scheme: "https", host: "origin.test", port: 443)

    /// Submits tasks that then wait for permission to begin.
    @discardableResult
    private func ask(_ fixture: StoreFixture, _ count: Int = 1) async throws -> [TaskID] {
        let ids = try await fixture.submit(count) { submission, _ in
            submission.earliestBeginAt = Date().addingTimeInterval(3600)
            submission.options.asksToBegin = true
        }
        _ = try await fixture.aside.execute(
            "UPDATE delayed SET due_at = now() - interval '1 s' WHERE due_at > now()"
        )
        _ = try await fixture.stores.queue.promoteDue()
        return ids
    }

    /// Submits tasks that then wait for a credential.
    @discardableResult
    private func challenge(_ fixture: StoreFixture, _ count: Int = 1) async throws -> [TaskID] {
        let ids = try await fixture.submit(count)
        let failure = TransferFailure(.httpStatus, "401.", httpStatus: 401).final
        try await fixture.end(
            try await fixture.claim(),
            .askForCredential(failure, Self.origin, named: nil, within: .seconds(60))
        )
        return ids
    }

    private func told(_ fixture: StoreFixture) async throws -> [SessionEvent.PendingTasks] {
        let session = try await fixture.session()
        let events = try await fixture.stores.events.events(of: session.id, after: 0, limit: 10_000)
        #expect(
            events.allSatisfy { ($0.pendingTasks != nil) == ($0.kind == .sessionEventsPending) }
        )
        return events.compactMap(\.pendingTasks)
    }

    @Test func isToldOnceOfAThousandTasks() async throws {
        let fixture = try await StoreFixture()
        let ids = try await ask(fixture, 1000)
        let pending = SessionEvent.PendingTasks(
            waitingToBegin: 1000,
            waitingForAuthentication: 0,
            tasks: Array(ids.prefix(20))
        )
        #expect(try await told(fixture) == [pending])
        try await ask(fixture)
        try await challenge(fixture)
        #expect(try await told(fixture).count == 1)
        let last = try await fixture.events().last { $0.kind == .sessionEventsPending }
        #expect(last?.sequence == 2001)
        try await fixture.checkInvariants()
    }

    @Test func isToldAgainOnceTheClientHasAnswered() async throws {
        let fixture = try await StoreFixture()
        let first = try await ask(fixture, 2)
        _ = try await fixture.stores.questions.beginTask(
            tenant: fixture.tenant,
            id: first[0],
            with: nil
        )
        #expect(try await told(fixture).count == 1)
        let refused = try await challenge(fixture, 2)
        let pending = try await told(fixture)
        #expect(pending.count == 2)
        // Including the tasks that it has not answered yet.
        #expect(pending[1].waitingToBegin == 1)
        #expect(pending[1].tasks.contains(first[1]))
        _ = try await fixture.stores.questions.refuseChallenge(
            tenant: fixture.tenant,
            id: refused[0]
        )
        try await challenge(fixture)
        #expect(try await told(fixture).count == 3)
        // Nobody answers in time, which is no answer of the client.
        _ = try await fixture.aside.execute("UPDATE asked SET until = now() - interval '1 s'")
        _ = try await fixture.stores.questions.failUnanswered()
        try await challenge(fixture)
        #expect(try await told(fixture).count == 3)
        try await fixture.checkInvariants()
    }

    @Test func sessionsAreToldOnTheirOwn() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("other")
        try await fixture.submit(2)
        try await fixture.submit(1, to: "other")
        let failure = TransferFailure(.httpStatus, "401.", httpStatus: 401).final
        try await fixture.end(
            try await fixture.claim(),
            .askForCredential(failure, Self.origin, named: nil, within: .seconds(60))
        )
        #expect(try await told(fixture).map(\.waitingForAuthentication) == [2])
        let other = try await fixture.events("other").compactMap(\.pendingTasks)
        #expect(other.map(\.waitingForAuthentication) == [1])
        try await fixture.checkInvariants()
    }

    @Test(arguments: Client.Lifecycle.allCases)
    func aClientThatWasAwayIsToldAtItsLaunch(lifecycle: Client.Lifecycle) async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("idle")
        try await fixture.subscribe(session: StoreFixture.identifier)
        try await ask(fixture, 2)
        let isAway = !lifecycle.isRunning && lifecycle != .forceQuit
        if lifecycle == .forceQuit {
            _ = try await fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: .default)
        } else {
            _ = try await fixture.aside.execute(
                """
                UPDATE client SET lifecycle = \(lifecycle.rawValue),
                    grace_ends_at = CASE WHEN \(lifecycle == .background) THEN now() END,
                    assertions_end_at = CASE WHEN \(lifecycle == .background) THEN now() END
                """
            )
        }
        _ = try await fixture.stores.clients.launch(tenant: fixture.tenant, id: .default)
        // No task of a force-quit client waits any more.
        #expect(try await told(fixture).map(\.waitingToBegin) == (isAway ? [2, 2] : [2]))
        #expect(try await fixture.events("idle").isEmpty)
        #expect(try await fixture.claimDeliveries().count == 1)
        _ = try await fixture.stores.clients.launch(tenant: fixture.tenant, id: .default)
        #expect(try await told(fixture).count == (isAway ? 2 : 1))
        try await fixture.checkInvariants()
    }
}
