import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// The order in which attempts are locked: two statements with different orders could each hold
/// what the other waits for.
@Suite(.postgresSchema) struct LockOrderTests {
    @Test(arguments: ["cancel", "end", "progress", "bytes", "resumption"])
    func attemptsAreLockedInTheOrderOfTheirTasks(verb: String) async throws {
        let fixture = try await StoreFixture()
        // The later tasks are claimed first, and their attempts are stored first.
        let ids = try await fixture.submit(40) { submission, index in
            submission.priority = TaskPriority(rank: index < 20 ? 900 : 100)
        }
        let claims = try await fixture.claim(40)
        #expect(claims.count == 40)
        try await fixture.separate(claims)
        _ = try await fixture.aside.execute("ANALYZE attempt")
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            "SELECT FROM attempt WHERE task_id = \(ids[0].uuid) FOR UPDATE"
        )
        async let ended: Void = Self.carryOut(verb, on: claims, fixture)
        try await fixture.eventuallyWaits(for: holder)
        #expect(try await fixture.countOfUnlocked("attempt") == 39)
        _ = try await holder.execute("COMMIT")
        try await ended
        await holder.close()
        try await fixture.stores.cancellations.continueCancellations()
        try await fixture.checkInvariants()
        let rest = try await fixture.count("SELECT count(*) AS count FROM running_attempt")
        #expect(rest == (["cancel", "end"].contains(verb) ? 0 : 40))
    }

    private static func carryOut(
        _ verb: String,
        on claims: [TaskClaim],
        _ fixture: StoreFixture
    ) async throws {
        if verb == "progress" {
            let progress = claims.map { StoreFixture.progress(of: $0.task, fence: $0.fence) }
            try await fixture.stores.parts.recordProgress(progress)
        } else if verb == "bytes" {
            // Without part files, whose statement would wait for the attempt first.
            let reversed = claims.sorted { $1.task.uuid.precedes($0.task.uuid) }
            try await fixture.separate(reversed)
        } else if verb == "resumption" {
            let told = try await fixture.stores.parts.recordResumptions(
                claims.map { Resumption(task: $0.task, fence: $0.fence, offset: 100) }
            )
            #expect(told.count == claims.count)
        } else if verb == "cancel" {
            _ = try await fixture.stores.sessions.invalidateSession(
                tenant: fixture.tenant,
                identifier: StoreFixture.identifier
            )
        } else {
            try await fixture.end(claims, .failed(StoreFixture.failure))
        }
    }
}
