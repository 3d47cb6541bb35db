import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The partitions of attempts, one for each week, whatever happens to their tasks.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct AttemptRetentionTests {
    private static let month: Duration = .seconds(30 * 24 * 3600)

    private func makePartitions(_ fixture: StoreFixture) async throws {
        for partition in try await fixture.stores.partitions.missingPartitions(of: .attempts) {
            #expect(try await fixture.stores.partitions.makePartition(partition))
        }
    }

    /// Makes the attempts of the task end six weeks ago, in a separate partition.
    private func age(_ task: TaskID, _ fixture: StoreFixture) async throws -> String {
        let row = try await fixture.aside.execute(
            """
            SELECT 'attempt_log_' || to_char(w, 'YYYYMMDD') AS name,
                to_char(w, 'YYYY-MM-DD') AS begin, to_char(w + interval '7 days', 'YYYY-MM-DD') AS "end"
            FROM (SELECT date_trunc('week', now() AT TIME ZONE 'UTC') - interval '42 days' AS w) x
            """
        )[0]
        let name = try row.decode("name", as: String.self)
        try await fixture.aside.executeScript(
            """
            CREATE TABLE \(name) PARTITION OF attempt_log
            FOR VALUES FROM ('\(try row.decode("begin", as: String.self)) 00:00:00+00')
            TO ('\(try row.decode("end", as: String.self)) 00:00:00+00')
            """
        )
        _ = try await fixture.aside.execute(
            """
            UPDATE attempt_log SET ended_at = ended_at - interval '42 days'
            WHERE task_id = \(task.uuid)
            """
        )
        return name
    }

    @Test func nothingFallsIntoTheDefaultPartition() async throws {
        let fixture = try await StoreFixture()
        #expect(try await fixture.stores.partitions.missingPartitions(of: .attempts).count == 3)
        try await makePartitions(fixture)
        #expect(try await fixture.stores.partitions.missingPartitions(of: .attempts).isEmpty)
        try await fixture.submit(3)
        try await fixture.end(try await fixture.claim(), .requeued)
        #expect(try await fixture.count("SELECT count(*) AS count FROM attempt_log") == 3)
        #expect(try await fixture.count("SELECT count(*) AS count FROM attempt_log_default") == 0)
        try await fixture.checkInvariants()
    }

    @Test func aTasksAttemptsAreToldOverAllWeeks() async throws {
        let fixture = try await StoreFixture()
        try await makePartitions(fixture)
        let task = try await fixture.submit()[0]
        for _ in 0..<2 {
            try await fixture.end(try await fixture.claim(), .requeued)
        }
        let name = try await age(task, fixture)
        try await fixture.complete(try await fixture.claim())
        let attempts = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: task)
        #expect(attempts?.map(\.number) == [1, 2, 3])
        #expect(attempts?.map(\.outcome) == [.lost, .lost, .completed])
        let expired = try await fixture.stores.partitions.expiredPartitions(
            of: .attempts,
            olderThan: Self.month
        )
        #expect(expired == [name])
        for _ in 0..<2 { try await fixture.stores.partitions.dropPartition(name) }
        // The task stays, and so do its recent attempts.
        let left = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: task)
        #expect(left?.map(\.number) == [3])
        #expect(try await fixture.state(task) == .completed)
    }

    @Test func ofAWeekWithoutAPartitionTheyGoByAge() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        try await fixture.end(try await fixture.claim(), .requeued)
        _ = try await fixture.aside.execute(
            """
            UPDATE attempt_log SET ended_at = ended_at - interval '31 days'
            WHERE task_id = \(ids[0].uuid)
            """
        )
        for count in [1, 0] {
            let pruned = try await fixture.stores.partitions.pruneDefaultPartition(
                of: .attempts,
                olderThan: Self.month
            )
            #expect(pruned == count)
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM attempt_log") == 1)
    }
}
