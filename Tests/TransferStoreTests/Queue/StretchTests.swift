import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// What ends or begins its rename together and takes whole stretches of its rows.
@Suite(.postgresSchema) struct StretchTests {
    private static func spans(_ spans: FenceSpans) -> [[Int64]] {
        zip(spans.fences, zip(spans.lows, spans.highs)).map { [$0, Int64($1.0), Int64($1.1)] }
    }

    @Test func aSpanHasFencesThatFollowEachOther() {
        let fences: [Int64] = [5, 6, 7, 9, 10, 3, 4, 4, 5]
        #expect(
            Self.spans(FenceSpans(fences))
                == [[3, 6, 7], [4, 8, 9], [5, 1, 3], [9, 4, 5]]
        )
        #expect(Self.spans(FenceSpans(fences, length: 6)).contains([6, 2, 3]))
        #expect(FenceSpans(fences, apart: true).fences == fences.sorted())
        let odd = FenceSpans(Array(10..<20)) { $0 < 3 || $0 > 5 }
        #expect(Self.spans(odd) == [[10, 1, 3], [16, 7, 10]])
        #expect(FenceSpans([]).isEmpty)
        #expect(FenceSpans([.max, .min, .max - 1, .max]).fences == [.min, .max - 1, .max])
    }

    private func ends(_ claims: [TaskClaim]) -> [AttemptEnd] {
        claims.map {
            AttemptEnd(
                task: $0.task,
                fence: $0.fence,
                outcome: .fetched(StoreFixture.result, part: $0.fence)
            )
        }
    }

    /// Runs the plain statement alone.
    ///
    /// - Returns: the places in `ends` of the tasks that it has ended.
    private func plainlyEnded(
        _ ends: [AttemptEnd],
        _ fixture: StoreFixture
    ) async throws -> [ClosedRange<Int32>] {
        let columns = try #require(try PlainEndColumns(ends))
        return try await fixture.aside.execute(CompletionStore.plainEnd(of: ends, columns).query)
            .map { try $0.decode("low")...$0.decode("high") }
    }

    @Test func aSpanIsTakenFromEachOfItsRows() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(300)
        let claims = try await fixture.claim(300)
        #expect(
            zip(claims, claims.dropFirst()).allSatisfy {
                $1.fence.rawValue == $0.fence.rawValue + 1
            }
        )
        let rows = try await fixture.count("SELECT count(*) AS count FROM attempt_run")
        // From within the first row into the last one.
        let some = Array(claims[7..<290])
        let ended = try await plainlyEnded(ends(some), fixture)
        #expect(ended.count == Int(rows))
        #expect(ended.flatMap(\.self) == Array(1...283))
        try await fixture.checkInvariants()
        let rest = claims[..<7] + claims[290...]
        #expect(try await fixture.fetch(Array(rest)) == Set(rest.map(\.task)))
        #expect(try await fixture.count("SELECT count(*) AS count FROM attempt_run") == 0)
        try await fixture.checkInvariants()
    }

    /// The statement for every case ends the others of that row.
    @Test func oneThatHasLeftKeepsItsRowAlone() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(300)
        let claims = try await fixture.claim(300)
        try await fixture.fetch([claims[150]])
        let ended = try await plainlyEnded(ends(claims), fixture).flatMap(\.self)
        #expect(!ended.isEmpty && ended.count < 299)
        #expect(!ended.contains(151))
        try await fixture.checkInvariants()
        let rest = claims.indices.filter { $0 != 150 && !ended.contains(Int32($0 + 1)) }
        #expect(rest.count < 128)
        #expect(try await fixture.fetch(claims) == Set(rest.map { claims[$0].task }))
        try await fixture.checkInvariants()
    }

    /// A task with the fence of its neighbour, in the middle of others that are right.
    @Test(arguments: [false, true])
    func aStretchWithAnotherTaskIsRefused(isRenamed: Bool) async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(20) { submission, index in
            guard isRenamed else { return }
            submission.destination = Destination(path: "f\(index)", overwrite: true)
        }
        let claims = try await fixture.claim()
        if isRenamed { try await fixture.beginRenames(claims) }
        let outcome: AttemptOutcome = isRenamed ? .completed : .failed(StoreFixture.failure)
        let ends = claims.indices.filter { $0 != 5 }.map { index in
            AttemptEnd(
                task: claims[index == 6 ? 5 : index].task,
                fence: claims[index].fence,
                outcome: outcome
            )
        }
        let right = claims.indices.filter { $0 != 5 && $0 != 6 }.map { claims[$0].task }
        #expect(try await fixture.stores.completions.end(ends) == Set(right))
        try await fixture.checkInvariants()
        let rest = Array(claims[5...6])
        #expect(try await fixture.states(rest.map(\.task)) == [.running, .running])
        #expect(try await fixture.end(rest, outcome) == Set(rest.map(\.task)))
        try await fixture.checkInvariants()
    }

    /// One of a row was cancelled; the others of it begin their renames, once.
    @Test func oneThatHasLeftKeepsNoOtherFromBeingRenamed() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(100) { submission, index in
            submission.destination = Destination(path: "f\(index)", overwrite: true)
        }
        let claims = try await fixture.claim()
        try await fixture.end([claims[40]], .failed(StoreFixture.failure))
        try await fixture.separate([claims[70]])
        let rest = claims.filter { $0.task != claims[40].task }
        for _ in 0..<2 {
            #expect(try await fixture.beginRenames(claims) == Set(rest.map(\.task)))
            #expect(
                try await fixture.count("SELECT count(*) AS count FROM pending_rename") == 99
            )
            #expect(try await fixture.count("SELECT count(*) AS count FROM running_attempt") == 0)
            try await fixture.checkInvariants()
        }
        #expect(try await fixture.end(claims, .completed) == Set(rest.map(\.task)))
        try await fixture.checkInvariants()
    }

    /// Also beside one that ends, both with rows of their own.
    @Test func whatHasNoPendingRenameCannotCompleteBesideOthers() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(4) { submission, index in
            submission.destination = Destination(path: "f\(index)", overwrite: true)
        }
        let claims = try await fixture.claim()
        try await fixture.separate(Array(claims[1...2]))
        try await fixture.beginRenames([claims[3]])
        let ends = claims.enumerated().map { index, claim in
            AttemptEnd(
                task: claim.task,
                fence: claim.fence,
                outcome: index == 1 ? .failed(StoreFixture.failure) : .completed
            )
        }
        let ended = try await fixture.stores.completions.end(ends)
        #expect(ended == [claims[1].task, claims[3].task])
        #expect(
            try await fixture.states(claims.map(\.task))
                == [.running, .failed, .running, .completed]
        )
        try await fixture.checkInvariants()
    }

    /// Each span finds its row by the key, and none is compared with the rows of others.
    @Test(arguments: [false, true])
    func theWorkGrowsWithTheSpans(isRenamed: Bool) async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(1000) { submission, index in
            guard isRenamed else { return }
            submission.destination = Destination(path: "f\(index)", overwrite: true)
        }
        let claims = try await fixture.claim(1000)
        if isRenamed { try await fixture.beginRenames(claims) }
        // Of every other task: no span is longer than one.
        let some = stride(from: 0, to: 1000, by: 2).map { claims[$0] }
        let ends =
            isRenamed
            ? some.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .completed) }
            : ends(some)
        let change = CompletionStore.plainEnd(of: ends, try #require(try PlainEndColumns(ends)))
        let plan = try await fixture.aside.execute("EXPLAIN (ANALYZE, TIMING OFF) \(change.query)")
            .map { try $0.decode("QUERY PLAN", as: String.self) }
        let left = plan.compactMap { line in
            line.firstMatch(of: /Rows Removed by (?:Join )?Filter: (\d+)/).flatMap { Int($0.1) }
        }
        #expect(plan.contains { $0.contains("rows=500") })
        #expect(left.reduce(0, +) <= 2 * some.count)
        try await fixture.checkInvariants()
        #expect(try await fixture.states(some.map(\.task)).allSatisfy { $0 == .completed })
    }
}
