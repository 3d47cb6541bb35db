import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct PendingRenameTests {
    private static func completed(_ claim: TaskClaim, fence: Fence? = nil) -> AttemptEnd {
        AttemptEnd(task: claim.task, fence: fence ?? claim.fence, outcome: .completed)
    }

    @Test func whatBeginsAndWhatEndsIsJudgedOneByOne() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(4)
        let claims = try await fixture.claim()
        try await fixture.beginRenames(Array(claims[..<2]))
        let stale = Fence(rawValue: 1)
        let changed = try await fixture.stores.completions.end(
            [Self.completed(claims[0]), Self.completed(claims[1], fence: stale)],
            beginning: [PendingRename(of: claims[2]), PendingRename(of: claims[3], fence: stale)]
        )
        #expect(changed == [claims[0].task, claims[2].task])
        #expect(
            try await fixture.states(claims.map(\.task)) == [
                .completed, .running, .running, .running,
            ]
        )
        #expect(try await fixture.count("SELECT count(*) AS count FROM pending_rename") == 2)
        // As after a lost answer: begun renames are returned again, ends are not.
        let again = try await fixture.stores.completions.end(
            [Self.completed(claims[0])],
            beginning: [PendingRename(of: claims[2])]
        )
        #expect(again == [claims[2].task])
        #expect(try await fixture.stores.completions.end([]).isEmpty)
        try await fixture.checkInvariants()
    }

    /// When one half is refused, the other is undone too, and the sender of both retries them by
    /// halves.
    @Test func bothHappenOrNeither() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2)
        let claims = try await fixture.claim()
        // PostgreSQL's jsonb cannot hold NUL.
        let refused = AttemptEnd(
            task: claims[1].task,
            fence: claims[1].fence,
            outcome: .failed(TransferFailure(.poison, "\u{0}"))
        )
        await #expect(throws: StoreError.self) {
            try await fixture.stores.completions.end(
                [refused],
                beginning: [PendingRename(of: claims[0])]
            )
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM pending_rename") == 0)
        try await fixture.checkInvariants()
    }

    /// Two workers call in turns, while sessions are invalidated: no caller waits for another in
    /// vain.
    @Test func turnsAndInvalidationsDoNotBlockEachOther() async throws {
        let fixture = try await StoreFixture(connectionsMax: 8)
        for round in 0..<5 {
            let identifiers = (0..<4).map { "round-\(round)-\($0)" }
            for identifier in identifiers {
                try await fixture.putSession(identifier)
                try await fixture.submit(50, to: identifier)
            }
            let claims = try await fixture.claim(200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for identifier in identifiers {
                    group.addTask {
                        _ = try await fixture.stores.sessions.invalidateSession(
                            tenant: fixture.tenant,
                            identifier: identifier
                        )
                    }
                }
                for part in 0..<2 {
                    let mine = claims.enumerated().filter { $0.offset % 2 == part }.map(\.element)
                    group.addTask {
                        var begun: [TaskClaim] = []
                        for turn in 0...5 {
                            let next = Array(mine.dropFirst(turn * 20).prefix(20))
                            let changed = try await fixture.stores.completions.end(
                                begun.map { Self.completed($0) },
                                beginning: next.reversed().map { PendingRename(of: $0) }
                            )
                            begun = next.filter { changed.contains($0.task) }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await fixture.stores.cancellations.continueCancellations()
        #expect(try await fixture.count("SELECT count(*) AS count FROM running_attempt") == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM pending_rename") == 0)
        try await fixture.checkInvariants()
    }
}
