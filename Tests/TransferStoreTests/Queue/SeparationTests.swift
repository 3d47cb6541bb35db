import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Ends and renames of attempts that get rows of their own at the same time: a statement that has
/// waited for the run finds the attempt neither there nor, as it was before, among the rows.
@Suite(.postgresSchema) struct SeparationTests {
    /// Performs `body` beside the separation of an attempt, which ends when `body` waits for it.
    private func besideSeparation<Value: Sendable>(
        of claim: TaskClaim,
        _ fixture: StoreFixture,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let progress = try await TestDatabase.current.connection()
        _ = try await progress.execute("BEGIN")
        _ = try await progress.execute(AttemptRuns.separate([claim.task], [claim.fence]))
        async let value = body()
        try await fixture.eventuallyWaits(for: progress)
        _ = try await progress.execute("COMMIT")
        await progress.close()
        return try await value
    }

    @Test func aLoneRenameIsBegun() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(3) { submission, index in
            submission.destination = Destination(path: "f\(index)", overwrite: false)
        }
        let claims = try await fixture.claim()
        let begun = try await besideSeparation(of: claims[1], fixture) {
            try await fixture.beginRenames([claims[1]])
        }
        #expect(begun == [claims[1].task])
        try await fixture.checkInvariants()
        #expect(try await fixture.end([claims[1]], .completed) == [claims[1].task])
        try await fixture.checkInvariants()
    }

    /// A single end that is not plain takes the statement for every case for the whole batch.
    @Test(arguments: [1, 3])
    func endsBesideARetryAreCarriedOut(count: Int) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4)
        let claims = try await fixture.claim()
        let ends = claims[..<count].map { claim in
            AttemptEnd(
                task: claim.task,
                fence: claim.fence,
                outcome: claim.task == ids[0]
                    ? .retry(StoreFixture.failure, after: .seconds(3600))
                    : .failed(StoreFixture.failure)
            )
        }
        let separated = claims[count - 1]
        let ended = try await besideSeparation(of: separated, fixture) {
            try await fixture.stores.completions.end(ends)
        }
        #expect(ended == Set(ids[..<count]))
        let states: [TransferState] = [.waitingForRetry, .failed, .failed, .running]
        #expect(try await fixture.states(ids).prefix(count) == states.prefix(count))
        #expect(try await fixture.count("SELECT count(*) AS count FROM attempt") == 0)
        try await fixture.checkInvariants()
    }

    @Test(arguments: [false, true])
    func plainEndsAreCarriedOut(hasRenames: Bool) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4)
        let claims = try await fixture.claim()
        let ends = claims[..<3].map { claim in
            AttemptEnd(
                task: claim.task,
                fence: claim.fence,
                outcome: .failed(StoreFixture.failure)
            )
        }
        let renames = hasRenames ? [PendingRename(of: claims[3])] : []
        let changed = try await besideSeparation(of: claims[1], fixture) {
            try await fixture.stores.completions.end(ends, beginning: renames)
        }
        #expect(changed == Set(hasRenames ? ids : Array(ids[..<3])))
        try await fixture.checkInvariants()
    }
}
