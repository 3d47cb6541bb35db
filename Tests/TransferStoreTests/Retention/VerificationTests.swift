import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The detection and correction of counters that differ from the tables.
@Suite(.postgresSchema) struct VerificationTests {
    private static let corruptions: [(name: String, statement: Query)] = [
        ("completed", "UPDATE session_task_count SET tasks = tasks + 2 WHERE state = 'completed'"),
        ("queued", "UPDATE session_task_count SET tasks = tasks - 1 WHERE state = 'queued'"),
        ("outstanding", "UPDATE session_progress SET outstanding = outstanding + 1"),
        ("completed", "UPDATE session_task_count SET bytes_received = 0 WHERE state = 'completed'"),
        ("queued", "UPDATE tenant_task_count SET tasks = tasks + 5 WHERE state = 'queued'"),
        ("queued", "UPDATE task_count SET tasks = tasks + 5 WHERE state = 'queued'"),
    ]

    /// Makes tasks that wait, run and have ended, partly counted.
    private func fill(_ fixture: StoreFixture) async throws {
        try await fixture.putSession("other")
        try await fixture.submit(6)
        try await fixture.submit(2, to: "other")
        try await fixture.complete(try await fixture.claim(3))
        _ = try await fixture.stores.counts.foldMoves()
        try await fixture.submit(2)
        _ = try await fixture.claim(1)
    }

    /// Returns all differences found by a walk through the sessions, one a page, and then the
    /// tenants.
    private func differences(
        _ fixture: StoreFixture,
        repairs: Bool = false
    ) async throws -> [CountDifference] {
        var found: [CountDifference] = []
        var position: SessionID?
        repeat {
            let page = try await fixture.stores.verification.unequalCounts(
                after: position,
                limit: 1,
                repairs: repairs
            )
            found += page.differences
            position = page.position
        } while position != nil
        found += try await fixture.stores.verification.unequalTenantCounts(repairs: repairs)
        return try await found + fixture.stores.verification.unequalTotals(repairs: repairs)
    }

    @Test func whatIsRightIsNotListed() async throws {
        let fixture = try await StoreFixture()
        try await fill(fixture)
        #expect(try await differences(fixture).isEmpty)
    }

    @Test(arguments: corruptions.indices)
    func anUnequalCountIsListedAndRepaired(number: Int) async throws {
        let fixture = try await StoreFixture()
        try await fill(fixture)
        let (name, statement) = Self.corruptions[number]
        _ = try await fixture.aside.execute(statement)
        let found = try await differences(fixture)
        #expect(found.contains { $0.name == name && $0.isRepairable })
        // Looking changes nothing.
        #expect(try await differences(fixture).count == found.count)
        _ = try await differences(fixture, repairs: true)
        #expect(try await differences(fixture).isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func aTaskThatIsNowhereIsListed() async throws {
        let fixture = try await StoreFixture()
        try await fill(fixture)
        _ = try await fixture.aside.execute(
            """
            UPDATE ready_run SET task_ids = task_ids[2:]
            WHERE ctid = (SELECT ctid FROM ready_run LIMIT 1)
            """
        )
        let found = try await differences(fixture)
        let lost = try #require(found.first { $0.name == "nowhere" })
        #expect(lost.actual == 1)
        #expect(!lost.isRepairable)
    }

    @Test func anEventThatIsThereTwiceIsListed() async throws {
        let fixture = try await StoreFixture()
        try await fill(fixture)
        _ = try await fixture.aside.execute(
            """
            INSERT INTO event_run (session_id, last_sequence, first_sequence, kind, generation,
                occurred_at, task_ids, task_state)
            SELECT session_id, 1, 1, kind, generation, occurred_at + interval '1 us',
                ARRAY[task_id], task_state
            FROM event WHERE sequence = 1 LIMIT 1
            """
        )
        #expect(try await differences(fixture).map(\.name) == ["events"])
    }

    /// The files of an instance that may still be there are in use.
    @Test(arguments: [(15, true), (31, false)])
    func anInstanceIsAliveForThreeLeasesAfterItsHeartbeat(
        seconds: Int,
        isAlive: Bool
    ) async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.aside.execute(
            "UPDATE worker SET heartbeat_at = clock_timestamp() - \(seconds) * interval '1 s'"
        )
        #expect(try await fixture.stores.verification.isAnyWorkerAlive() == isAlive)
    }

    @Test func aResultThatIsGoneSaysSoUntilItIsFound() async throws {
        let fixture = try await StoreFixture()
        let task = try await fixture.submit()[0]
        try await fixture.complete(try await fixture.claim())
        let results = try await fixture.stores.verification.results(after: nil, limit: 10)
        #expect(results.map(\.task) == [task])
        #expect(try await fixture.stores.verification.markResults(gone: [task], found: []) == 1)
        #expect(try await fixture.task(task).resultGoneAt != nil)
        #expect(try await fixture.stores.verification.results(after: nil, limit: 10)[0].isKnownGone)
        #expect(try await fixture.stores.verification.markResults(gone: [task], found: []) == 0)
        #expect(try await fixture.stores.verification.markResults(gone: [], found: [task]) == 1)
        #expect(try await fixture.task(task).resultGoneAt == nil)
        #expect(try await fixture.stores.verification.results(after: task, limit: 10).isEmpty)
    }
}
