import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What the commit of a submission leaves for others to look at, and nothing else.
@Suite(.postgresSchema) struct SubmissionSignalTests {
    private typealias Change = (inout TaskSubmission, Int) -> Void

    private func signals(
        _ fixture: StoreFixture,
        _ count: Int,
        _ change: Change = { _, _ in }
    ) async throws -> Set<Signal> {
        let result = try await fixture.stores.submissions.submit(
            StoreFixture.submissions(count, change),
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier
        )
        guard case .accepted(_, let signals) = result else { throw CancellationError() }
        return signals
    }

    @Test(arguments: [1, SubmissionStore.groupedTasksMax + 1])
    func workIsToldOnlyOfTasksThatMayBegin(count: Int) async throws {
        let fixture = try await StoreFixture()
        let later: Change = { task, _ in task.earliestBeginAt = .now + 3600 }
        #expect(try await signals(fixture, count) == [.work, .events])
        #expect(try await signals(fixture, count, later) == [.events])
        #expect(
            try await signals(fixture, count) { task, _ in task.autostart = false } == [.events]
        )
        let past = try await signals(fixture, count) { task, _ in task.earliestBeginAt = .now - 1 }
        #expect(past == [.work, .events])
        let mixed = try await signals(fixture, count + 1) { task, index in
            if index > 0 { later(&task, index) }
        }
        #expect(mixed == [.work, .events])
    }

    @Test func deliveriesAreToldOnlyOfPairsThatBecomeDue() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.putSession("other")
        try await fixture.subscribe(session: "other")
        #expect(try await signals(fixture, 1) == [.work, .events])
        try await fixture.subscribe()
        #expect(try await signals(fixture, 1) == [.work, .events, .deliveries])
        // Whoever made the pair due has told of it.
        #expect(try await signals(fixture, 1) == [.work, .events])
        let claim = try await fixture.claimDeliveries()[0]
        // Its release tells of what came meanwhile.
        #expect(try await signals(fixture, 1) == [.work, .events])
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) == .due)
    }
}
