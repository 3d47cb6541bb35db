import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Attempts that one claim begins, and that end together, in runs that are not all alike.
@Suite(.postgresSchema) struct AttemptGroupTests {
    /// Claims all nine tasks, the last three for the third time and those before for the second.
    private func claimsOfThreeRuns(
        _ fixture: StoreFixture,
        _ change: (inout TaskSubmission, Int) -> Void = { _, _ in }
    ) async throws -> [TaskClaim] {
        try await fixture.submit(9, change)
        for kept in [3, 6] {
            let claims = try await fixture.claim()
            try await fixture.end(Array(claims[..<kept]), .released)
            try await fixture.end(
                Array(claims[kept...]),
                .retry(StoreFixture.failure, after: .zero)
            )
            _ = try await fixture.stores.queue.promoteDue()
        }
        let claims = try await fixture.claim()
        #expect(claims.map(\.number) == [1, 1, 1, 2, 2, 2, 3, 3, 3])
        // As in a single run.
        let first = claims[0].fence.rawValue
        #expect(claims.map(\.fence.rawValue) == Array(first..<first + 9))
        return claims
    }

    @Test(arguments: [false, true])
    func endsOfSeveralRunsWhoseFencesFollowEachOther(hasDestinations: Bool) async throws {
        let fixture = try await StoreFixture()
        let claims = try await claimsOfThreeRuns(fixture) { submission, index in
            guard hasDestinations else { return }
            submission.destination = Destination(path: "f\(index)", overwrite: false)
        }
        #expect(try await fixture.complete(claims) == Set(claims.map(\.task)))
        try await fixture.checkInvariants()
    }

    @Test func endsOfEveryKindOfSeveralRuns() async throws {
        let fixture = try await StoreFixture()
        let claims = try await claimsOfThreeRuns(fixture)
        let ended = try await fixture.end(claims, .released)
        #expect(ended == Set(claims.map(\.task)))
        try await fixture.checkInvariants()
    }

    @Test func whatProgressesOfSeveralRunsGetsRows() async throws {
        let fixture = try await StoreFixture()
        let claims = try await claimsOfThreeRuns(fixture)
        try await fixture.separate(claims)
        #expect(try await fixture.count("SELECT count(*) AS count FROM attempt") == 9)
        #expect(try await fixture.complete(claims) == Set(claims.map(\.task)))
        try await fixture.checkInvariants()
    }

    /// Wherever they are in the run of the queue.
    @Test(arguments: [[], [0], [2], [4], [1, 3], [0, 1, 2, 3, 4]])
    func whatContinuesAPartIsInNoRun(places: [Int]) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(5)
        let parts = try await fixture.claim().map {
            StoreFixture.progress(of: $0.task, fence: $0.fence)
        }
        _ = try await fixture.stores.completions.end(
            parts.enumerated().map { index, part in
                AttemptEnd(
                    task: part.task,
                    fence: part.fence,
                    outcome: .retry(StoreFixture.failure, after: .zero),
                    bytesReceived: part.bytesReceived,
                    partial: places.contains(index) ? part.checkpoint : nil
                )
            }
        )
        _ = try await fixture.stores.queue.promoteDue()
        let claims = try await fixture.claim()
        #expect(claims.map(\.task) == ids)
        #expect(claims.indices.filter { claims[$0].partial != nil } == places)
        #expect(claims.allSatisfy { $0.number == 2 })
        let found = try await fixture.aside.execute(
            "SELECT task_id, fence FROM running_attempt ORDER BY task_id"
        )
        #expect(
            try found.map { Fence(rawValue: try $0.decode("fence")) } == claims.map(\.fence)
        )
        #expect(
            try await fixture.count("SELECT count(*) AS count FROM attempt")
                == Int64(places.count)
        )
        try await fixture.checkInvariants()
        #expect(try await fixture.complete(claims) == Set(ids))
        #expect(try await fixture.count("SELECT count(*) AS count FROM attempt_run") == 0)
        try await fixture.checkInvariants()
    }
}
