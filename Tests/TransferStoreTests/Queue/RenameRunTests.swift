import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Pending renames that share a row.
@Suite(.postgresSchema, .timeLimit(.minutes(3))) struct RenameRunTests {
    private static let lease: Duration = .seconds(600)

    private func submit(
        _ count: Int,
        to identifier: String = StoreFixture.identifier,
        in fixture: StoreFixture
    ) async throws {
        try await fixture.submit(count, to: identifier) { submission, index in
            submission.destination = Destination(path: "\(identifier)-\(index)", overwrite: true)
        }
    }

    /// The number of renames that each row still has.
    private func rows(_ fixture: StoreFixture) async throws -> [Int] {
        try await fixture.aside.execute(
            "SELECT 32 - bit_count(gone) AS count FROM rename_run ORDER BY first_fence"
        ).map { Int(try $0.decode("count", as: Int64.self)) }
    }

    private func pending(_ fixture: StoreFixture) async throws -> [Fence] {
        try await fixture.aside.execute("SELECT fence FROM pending_rename ORDER BY task_id")
            .map { Fence(rawValue: try $0.decode("fence")) }
    }

    @Test func renamesThatBeginTogetherShareRowsUntilTheyEnd() async throws {
        let fixture = try await StoreFixture()
        try await submit(100, in: fixture)
        let claims = try await fixture.claim()
        #expect(try await fixture.beginRenames(claims).count == 100)
        #expect(try await pending(fixture) == claims.map(\.fence))
        let counts = try await rows(fixture)
        #expect(counts.reduce(0, +) == 100)
        #expect(counts.count <= 100 / 32 + 2)
        try await fixture.checkInvariants()
        let task = try await fixture.task(claims[5].task)
        #expect(task.state == .running)
        #expect(task.attempt == 1)
        #expect(task.bytesReceived == StoreFixture.result.bytesReceived)
        // Those in the middle leave, and their neighbours stay.
        let some = Array(claims[10..<70])
        #expect(try await fixture.end(some, .completed) == Set(some.map(\.task)))
        #expect(try await fixture.end(some, .completed) == [])
        let rest = Array(claims[..<10] + claims[70...])
        #expect(try await pending(fixture) == rest.map(\.fence))
        #expect(try await fixture.beginRenames(claims) == Set(rest.map(\.task)))
        #expect(try await fixture.task(some[0].task).state == .completed)
        try await fixture.checkInvariants()
        #expect(try await fixture.end(claims, .completed) == Set(rest.map(\.task)))
        #expect(try await rows(fixture) == [])
        try await fixture.checkInvariants()
    }

    /// Each end finds its own, whatever began and ended together before, and stale fences
    /// nothing.
    @Test(arguments: [UInt64(1), 2, 3])
    func inWhateverOrderTheyBeginAndEnd(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        let fixture = try await StoreFixture()
        for number in 0..<4 { try await fixture.putSession("s\(number)") }
        var waiting: [TaskClaim] = []
        var begun: [TaskClaim] = []
        for turn in 0..<24 {
            if turn < 16 {
                let identifier = "s\(Int.random(in: 0..<4, using: &random))"
                try await submit(
                    Int.random(in: 1...60, using: &random),
                    to: identifier,
                    in: fixture
                )
                let claims = try await fixture.claim(Int.random(in: 1...80, using: &random))
                try await fixture.separate(
                    claims.filter { _ in Int.random(in: 0..<20, using: &random) == 0 }
                )
                waiting += claims
            }
            waiting.shuffle(using: &random)
            begun.shuffle(using: &random)
            let isLast = turn == 23
            let next = waiting.prefix(isLast ? .max : Int.random(in: 0...60, using: &random))
            let ending = begun.prefix(isLast ? .max : Int.random(in: 0...60, using: &random))
            let failing = ending.prefix(Int.random(in: 0...1, using: &random) * 3)
            let stale = begun.dropFirst(ending.count).prefix(3)
            let ends =
                ending.map { claim in
                    AttemptEnd(
                        task: claim.task,
                        fence: claim.fence,
                        outcome: failing.contains { $0.task == claim.task }
                            ? .failed(StoreFixture.failure) : .completed
                    )
                }
                // Others' fences, which are pending too.
                + zip(stale, stale.dropFirst()).map {
                    AttemptEnd(task: $0.task, fence: $1.fence, outcome: .completed)
                }
            let changed = try await fixture.stores.completions.end(
                ends,
                beginning: next.map { PendingRename(of: $0) }
            )
            #expect(changed == Set((next + ending).map(\.task)))
            begun = Array(begun.dropFirst(ending.count) + next)
            waiting.removeFirst(next.count)
            let expected = begun.sorted { $0.task.uuid < $1.task.uuid }.map(\.fence)
            #expect(try await pending(fixture) == expected)
            try await fixture.checkInvariants()
        }
        #expect(try await fixture.end(begun, .completed) == Set(begun.map(\.task)))
        #expect(try await rows(fixture) == [])
        try await fixture.checkInvariants()
    }

    @Test func onlyTheFenceOfARenameEndsIt() async throws {
        let fixture = try await StoreFixture()
        try await submit(5, in: fixture)
        let claims = try await fixture.claim()
        try await fixture.beginRenames(claims)
        let first = claims[0].fence.rawValue
        for fence in [first - 1, first + 1, first + 5, first + 128, 0, Int64.max] {
            for outcome in [AttemptOutcome.completed, .released] {
                let end = AttemptEnd(
                    task: claims[0].task,
                    fence: Fence(rawValue: fence),
                    outcome: outcome
                )
                #expect(try await fixture.stores.completions.end([end]) == [])
            }
        }
        let other = PendingRename(of: claims[0], fence: claims[1].fence)
        #expect(try await fixture.stores.completions.end([], beginning: [other]) == [])
        // What has no pending rename ends none.
        #expect(try await fixture.fetch(claims) == [])
        #expect(try await pending(fixture) == claims.map(\.fence))
        try await fixture.checkInvariants()
    }

    /// A file that failed under its destination, and attempts that go back to the queue, leave the
    /// others of their row.
    @Test func endsOfEveryKindLeaveTheOthers() async throws {
        let fixture = try await StoreFixture()
        try await submit(10, in: fixture)
        let claims = try await fixture.claim()
        try await fixture.beginRenames(claims)
        try await fixture.end([claims[3]], .failed(StoreFixture.failure))
        try await fixture.end([claims[4]], .retry(StoreFixture.failure, after: .seconds(60)))
        try await fixture.end([claims[5]], .requeued)
        #expect(try await rows(fixture).reduce(0, +) == 7)
        #expect(
            try await fixture.states(claims[3...6].map(\.task))
                == [.failed, .waitingForRetry, .queued, .running]
        )
        try await fixture.checkInvariants()
        let rest = Array(claims[..<3] + claims[6...])
        #expect(try await fixture.end(claims, .completed) == Set(rest.map(\.task)))
        try await fixture.checkInvariants()
    }

    /// An attempt that has progressed may have left a part, which its end removes.
    @Test func whatHasLeftAPartIsAlone() async throws {
        let fixture = try await StoreFixture()
        try await submit(8, in: fixture)
        let claims = try await fixture.claim()
        let kept = claims[2...4]
        try await fixture.stores.parts.recordProgress(
            kept.map { StoreFixture.progress(of: $0.task, fence: $0.fence) }
        )
        try await fixture.beginRenames(claims)
        #expect(try await rows(fixture).count >= 3 + 2)
        try await fixture.checkInvariants()
        #expect(try await fixture.end(claims, .completed) == Set(claims.map(\.task)))
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 0)
        #expect(try await rows(fixture) == [])
        try await fixture.checkInvariants()
    }

    @Test func aDeadWorkersRenamesAreTakenOverTaskByTask() async throws {
        let fixture = try await StoreFixture()
        try await submit(100, in: fixture)
        let claims = try await fixture.claim()
        let files = claims.map { FileIdentity(inode: 1 + $0.fence.rawValue, bornAtNanoseconds: 7) }
        _ = try await fixture.stores.completions.end(
            [],
            beginning: zip(claims, files).map {
                PendingRename(of: $0, result: StoreFixture.result, file: $1)
            }
        )
        try await fixture.end(Array(claims[20..<50]), .completed)
        let rest = Array(claims[..<20] + claims[50...])
        let rescuer = try await fixture.otherWorker()
        try await submit(3, in: fixture)
        let own = try await fixture.claim(by: rescuer)
        try await fixture.beginRenames(own)
        try await fixture.silence(fixture.worker)
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        let taken = takeover.pendingRenames.sorted { $0.task.uuid < $1.task.uuid }
        #expect(taken.map(\.task) == rest.map(\.task))
        #expect(taken.map(\.partFence) == rest.map(\.fence))
        #expect(taken.allSatisfy { $0.fence.incarnation == rescuer.incarnation })
        #expect(taken.allSatisfy { $0.file?.inode == 1 + $0.partFence.rawValue })
        let fences = taken.map(\.fence) + own.map(\.fence)
        #expect(try await pending(fixture) == fences)
        let held = try await fixture.stores.workers.holdings(incarnation: rescuer.incarnation)
        #expect(Set(held.pendingRenames.map(\.fence)) == Set(fences))
        try await fixture.checkInvariants()
        // The worker was only suspended, and ends none of them.
        #expect(try await fixture.end(claims, .completed) == [])
        let ends = taken.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .completed) }
        #expect(try await fixture.stores.completions.end(ends) == Set(rest.map(\.task)))
        #expect(try await fixture.end(own, .completed) == Set(own.map(\.task)))
        #expect(try await rows(fixture) == [])
        try await fixture.checkInvariants()
    }

    /// A worker whose registration is gone has pending renames alone.
    @Test(arguments: [false, true])
    func renamesWithoutAnOwnerAreFound(isNewest: Bool) async throws {
        let fixture = try await StoreFixture()
        try await submit(3, in: fixture)
        let other = try await fixture.otherWorker()
        let (owner, rescuer) = isNewest ? (other, fixture.worker) : (fixture.worker, other)
        try await fixture.age(rescuer)
        try await fixture.beginRenames(fixture.claim(by: owner))
        try await fixture.stores.workers.retireWorker(incarnation: owner.incarnation)
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: Self.lease,
            identity: rescuer
        )
        #expect(takeover.pendingRenames.count == 3)
        try await fixture.checkInvariants()
    }

    /// A whole row at a time, and no more tasks than there are fences for.
    @Test func aTakeoverTakesABoundedNumber() async throws {
        let fixture = try await StoreFixture()
        try await submit(200, in: fixture)
        try await fixture.beginRenames(fixture.claim(200))
        try await fixture.stores.workers.retireWorker(incarnation: fixture.worker.incarnation)
        let rescuer = try await fixture.otherWorker()
        let first = rescuer.reserve(80).first
        let taken = try await fixture.aside.execute(
            """
            WITH \(RenameRuns.takeOrphans(count: 80, from: first.rawValue, if: "true"))
            SELECT fence FROM taken ORDER BY fence
            """
        ).map { try $0.decode("fence", as: Int64.self) }
        #expect((80 - 31...80).contains(taken.count))
        #expect(taken.elementsEqual(first.rawValue..<first.rawValue + Int64(taken.count)))
        #expect(try await pending(fixture).count == 200)
        try await fixture.checkInvariants()
    }

    /// Whoever ends renames of one row at once leaves the others theirs.
    @Test func endsOfOneRowAtOnceEachFindTheirOwn() async throws {
        let fixture = try await StoreFixture(connectionsMax: 8)
        try await submit(640, in: fixture)
        let claims = try await fixture.claim(640)
        try await fixture.beginRenames(claims)
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for start in 0..<8 {
                let some = stride(from: start, to: claims.count, by: 8).map { claims[$0] }
                let outcome: AttemptOutcome =
                    start % 2 == 0 ? .completed : .failed(StoreFixture.failure)
                group.addTask { try await fixture.end(some, outcome).count }
            }
            return try await group.reduce(into: 0) { $0 += $1 }
        }
        #expect(counts == claims.count)
        #expect(try await rows(fixture) == [])
        try await fixture.checkInvariants()
    }

    /// As after a lost answer, while somebody else holds the first row.
    @Test func theSameEndsAtOnceHappenOnceAndLockRowsInTheOrderOfTheirFences() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        try await submit(100, in: fixture)
        let claims = try await fixture.claim()
        try await fixture.beginRenames(claims)
        let count = try await rows(fixture).count
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            "SELECT FROM rename_run WHERE first_fence = \(claims[0].fence.rawValue) FOR UPDATE"
        )
        async let first = fixture.end(claims.reversed(), .completed)
        async let second = fixture.end(claims, .completed)
        try await fixture.eventuallyWaits(for: holder)
        let free = try await fixture.countOfUnlocked("rename_run")
        #expect(Int(free) == count - 1)
        _ = try await holder.execute("COMMIT")
        let ended = try await [first, second]
        #expect(ended.map(\.count).sorted() == [0, 100])
        await holder.close()
        try await fixture.checkInvariants()
    }

    /// What is found of a batch is hashed, and each is not compared with each.
    @Test(arguments: [false, true])
    func theWorkOfAnEndGrowsWithItsBatch(isPlain: Bool) async throws {
        let fixture = try await StoreFixture()
        try await submit(500, in: fixture)
        let claims = try await fixture.claim(500)
        try await fixture.beginRenames(claims)
        let ends = claims.map {
            AttemptEnd(task: $0.task, fence: $0.fence, outcome: .completed)
        }
        let change =
            isPlain
            ? CompletionStore.plainEnd(of: ends, try #require(try PlainEndColumns(ends)))
            : try CompletionStore.attemptEnd(of: ends)
        let plan = try await fixture.aside.execute(
            "EXPLAIN (ANALYZE, TIMING OFF) \(change.query)"
        )
        let compared = try plan.map { row in
            try row.decode("QUERY PLAN", as: String.self)
                .firstMatch(of: /Rows Removed by Join Filter: (\d+)/)
                .flatMap { Int($0.1) } ?? 0
        }
        #expect(plan.count > 10)
        #expect(compared.reduce(0, +) <= claims.count)
        #expect(try await rows(fixture) == [])
        try await fixture.checkInvariants()
    }

    /// An end reads what it ends, whatever else is pending, and whenever its plan was made.
    @Test func anEndReadsItsOwnRowsBesideMany() async throws {
        let fixture = try await StoreFixture()
        let meter = PageMeter()
        try await meter.holdStatistics()
        func ends(_ claims: [TaskClaim]) -> [AttemptEnd] {
            claims.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .completed) }
        }
        func pages(_ claims: [TaskClaim]) async throws -> Int64 {
            try await meter.pagesOfRelations { stores in
                let ended = try await stores.completions.end(ends(claims))
                #expect(ended.count == claims.count)
            }.filter { $0.key.hasPrefix("rename_run") }.values.reduce(0, +)
        }
        try await submit(20, in: fixture)
        let first = try await fixture.claim(20)
        try await fixture.beginRenames(first)
        _ = try await pages(first)
        var all: [TaskClaim] = []
        for _ in 0..<20 {
            try await submit(1000, in: fixture)
            let claims = try await fixture.claim(1000)
            try await fixture.beginRenames(claims)
            all += claims
        }
        #expect(try await pages(Array(all[9000..<9100])) <= 80)
    }
}
