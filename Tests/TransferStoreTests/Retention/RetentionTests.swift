import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct RetentionTests {
    private static let month: Duration = .seconds(30 * 24 * 3600)

    /// Makes the partition of the week `weeks` ago, as the service did at that time.
    private func makeWeek(_ weeks: Int, _ fixture: StoreFixture) async throws -> String {
        let row = try await fixture.aside.execute(
            """
            SELECT to_char(w, '"event_run_"YYYYMMDD') AS name, to_char(w, 'YYYY-MM-DD') AS begin,
                to_char(w + interval '7 days', 'YYYY-MM-DD') AS "end"
            FROM (SELECT date_trunc('week', now() AT TIME ZONE 'UTC')
                - \(weeks) * interval '7 days' AS w) x
            """
        )[0]
        let name = try row.decode("name", as: String.self)
        try await fixture.aside.executeScript(
            """
            CREATE TABLE \(name) PARTITION OF event_run
            FOR VALUES FROM ('\(try row.decode("begin", as: String.self)) 00:00:00+00')
            TO ('\(try row.decode("end", as: String.self)) 00:00:00+00')
            """
        )
        return name
    }

    /// Moves the first `count` events back by `days` days.
    private func age(_ count: Int, byDays days: Int, _ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute([
            Query.splitEventRuns,
            """
            UPDATE event_run SET occurred_at = occurred_at - \(days) * interval '1 day'
            WHERE last_sequence <= \(count)
            """,
        ])
    }

    private func makePartitions(_ fixture: StoreFixture) async throws -> [Bool] {
        var made: [Bool] = []
        for partition in try await fixture.stores.partitions.missingPartitions(of: .events) {
            made.append(try await fixture.stores.partitions.makePartition(partition))
        }
        return made
    }

    @Test func partitionsOfTheNextWeeksAreMadeOnce() async throws {
        let fixture = try await StoreFixture()
        let missing = try await fixture.stores.partitions.missingPartitions(of: .events)
        #expect(missing.count == 3)
        // Several instances start at once.
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for partition in missing {
                        while true {
                            do throws(StoreError) {
                                _ = try await fixture.stores.partitions.makePartition(partition)
                                break
                            } catch {
                                guard case .unavailable = error else { throw error }
                            }
                        }
                    }
                    return true
                }
            }
            for try await _ in group {}
        }
        #expect(try await fixture.stores.partitions.missingPartitions(of: .events).isEmpty)
        try await fixture.submit(3)
        #expect(try await fixture.count("SELECT count(*) AS count FROM event_run_default") == 0)
        #expect(try await fixture.events().map(\.sequence) == [1, 2, 3])
        try await fixture.checkInvariants()
    }

    @Test func whatHappensInAWeekWithoutAPartitionIsKeptAllTheSame() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2)
        #expect(try await makePartitions(fixture) == [false, true, true])
        #expect(try await fixture.stores.partitions.missingPartitions(of: .events).count == 1)
        try await fixture.submit(2)
        #expect(try await fixture.events().map(\.sequence) == [1, 2, 3, 4])
        #expect(
            try await fixture.count(
                """
                SELECT sum(last_sequence - first_sequence + 1)::bigint AS count
                FROM event_run_default
                """
            ) == 4
        )
        // Only the age decides, and that not by a clock that is ahead.
        try await age(3, byDays: 31, fixture)
        #expect(
            try await fixture.stores.partitions.pruneDefaultPartition(
                of: .events,
                olderThan: Self.month,
                notAfter: Date() - 7 * 24 * 3600
            ) == 0
        )
        #expect(
            try await fixture.stores.partitions.pruneDefaultPartition(
                of: .events,
                olderThan: Self.month
            ) == 3
        )
        #expect(
            try await fixture.stores.partitions.pruneDefaultPartition(
                of: .events,
                olderThan: Self.month
            ) == 0
        )
        #expect(try await fixture.events().map(\.sequence) == [4])
    }

    @Test func aWeekIsDroppedWhenItsYoungestEventIsTooOld() async throws {
        let fixture = try await StoreFixture()
        let old = try await makeWeek(6, fixture)
        let kept = try await makeWeek(3, fixture)
        _ = try await makePartitions(fixture)
        try await fixture.submit(5)
        try await age(2, byDays: 42, fixture)
        let session = try await fixture.session().id
        #expect(try await fixture.stores.events.eventBounds(of: session).oldest == 1)
        let end: Date = try await fixture.aside.execute(
            """
            SELECT (to_date(right(\(old), 8), 'YYYYMMDD') + 7)::timestamp AT TIME ZONE 'UTC'
                AS "end"
            """
        )[0].decode("end")
        let early = try await fixture.stores.partitions.expiredPartitions(
            of: .events,
            olderThan: Self.month,
            notAfter: end + 30 * 24 * 3600 - 1
        )
        #expect(early.isEmpty)
        let expired = try await fixture.stores.partitions.expiredPartitions(
            of: .events,
            olderThan: Self.month
        )
        #expect(expired == [old])
        for _ in 0..<2 { try await fixture.stores.partitions.dropPartition(old) }
        #expect(try await fixture.events().map(\.sequence) == [3, 4, 5])
        #expect(try await fixture.stores.events.eventBounds(of: session).oldest == 3)
        let all = try await fixture.stores.partitions.expiredPartitions(
            of: .events,
            olderThan: .seconds(-8 * 24 * 3600)
        )
        #expect(all.first == kept)
        #expect(all.count >= 2)
    }

    @Test func whoIsSlowLearnsWhatWentWithAWeek() async throws {
        let fixture = try await StoreFixture()
        let old = try await makeWeek(6, fixture)
        _ = try await makePartitions(fixture)
        let id = try await fixture.subscribe()
        try await fixture.submit(5)
        try await age(2, byDays: 42, fixture)
        try await fixture.stores.partitions.dropPartition(old)
        let claim = try await fixture.claimDeliveries()[0]
        #expect(try await fixture.stores.deliveries.recordExpired(claim, lease: .seconds(60)) == 2)
        let told = try await fixture.stores.events.events(
            of: SessionID(fixture.tenant.uuid),
            after: 0,
            limit: 10
        )
        #expect(told.map(\.expiredEvents?.sequences) == [1...2])
        #expect(told.map(\.expiredEvents?.subscription) == [id])
    }

    @Test func theNextEventIsTheOldestWhereNoneIsKept() async throws {
        let fixture = try await StoreFixture()
        let session = try await fixture.session().id
        #expect(try await fixture.stores.events.eventBounds(of: session).oldest == 1)
        try await fixture.submit(3)
        try await age(3, byDays: 31, fixture)
        #expect(
            try await fixture.stores.partitions.pruneDefaultPartition(
                of: .events,
                olderThan: Self.month
            ) == 3
        )
        #expect(try await fixture.stores.events.eventBounds(of: session).oldest == 4)
        #expect(
            try await fixture.stores.events.eventBounds(of: SessionID(fixture.tenant.uuid)).oldest
                == 1
        )
    }

    @Test func aTableInUseIsLeftAlone() async throws {
        let fixture = try await StoreFixture()
        let old = try await makeWeek(6, fixture)
        let missing = try await fixture.stores.partitions.missingPartitions(of: .events)
        try await fixture.aside.executeScript("BEGIN; LOCK TABLE event IN ROW EXCLUSIVE MODE")
        await #expect(throws: StoreError.self) {
            try await fixture.stores.partitions.dropPartition(old)
        }
        await #expect(throws: StoreError.self) {
            try await fixture.stores.partitions.makePartition(missing[0])
        }
        // It waits for nobody, and nobody waits for it.
        try await fixture.submit(1)
        try await fixture.aside.executeScript("COMMIT")
        try await fixture.stores.partitions.dropPartition(old)
    }

    @Test func formerClientStringsGoWithTheEventsThatTellThem() async throws {
        let fixture = try await StoreFixture()
        let tasks = try await fixture.submit(2) { submission, _ in
            submission.clientString = ClientString("before")
        }
        var change = TaskChange()
        change.clientString = .some(ClientString("after"))
        for task in tasks {
            _ = try await fixture.stores.control.changeTask(
                tenant: fixture.tenant,
                id: task,
                change
            )
        }
        let count: Query = "SELECT count(*) AS count FROM client_string_change"
        #expect(try await fixture.count(count) == 2)
        let kept = try await fixture.stores.retention.pruneClientStringChanges(after: nil)
        #expect(kept.removed == 0)
        #expect(kept.position == nil)
        try await age(2, byDays: 31, fixture)
        _ = try await fixture.stores.partitions.pruneDefaultPartition(
            of: .events,
            olderThan: Self.month
        )
        #expect(
            try await fixture.stores.retention.pruneClientStringChanges(after: nil).removed == 2
        )
        #expect(try await fixture.count(count) == 0)
    }

    @Test func loggedDeliveriesGoWithTheirEvents() async throws {
        let fixture = try await StoreFixture()
        let subscription = try await fixture.subscribe()
        try await fixture.submit(2)
        for _ in 0..<2 {
            let claims = try await fixture.claimDeliveries()
            #expect(claims.count == 1)
            for claim in claims { _ = try await fixture.fail(claim, retryAfter: nil) }
        }
        try await age(1, byDays: 31, fixture)
        _ = try await fixture.stores.partitions.pruneDefaultPartition(
            of: .events,
            olderThan: Self.month
        )
        // Recent entries of the log are not examined.
        let young = try await fixture.stores.retention.pruneDeliveryLog(
            olderThan: Self.month,
            after: nil
        )
        #expect(young.removed == 0)
        let old = try await fixture.stores.retention.pruneDeliveryLog(
            olderThan: .seconds(-60),
            after: nil
        )
        #expect(old.removed == 1)
        let left = try await fixture.stores.deliveryLog.deliveries(
            tenant: fixture.tenant,
            subscription: subscription,
            state: nil,
            before: nil,
            limit: 10
        )
        #expect(left?.map(\.sequence) == [2])
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery_attempt") == 1)
    }

    @Test func aTryThatIsRecordedBesideTheRemovalOfItsMessageGoesWithIt() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.subscribe()
        try await fixture.submit(1)
        let claim = try #require(try await fixture.claimDeliveries().first)
        _ = try await fixture.fail(claim, retryAfter: nil)
        try await age(1, byDays: 31, fixture)
        _ = try await fixture.stores.partitions.pruneDefaultPartition(
            of: .events,
            olderThan: Self.month
        )
        let recorder = try await TestDatabase.current.connection()
        _ = try await recorder.execute("BEGIN")
        _ = try await recorder.execute(
            """
            WITH log_row AS (UPDATE delivery_log SET state = state RETURNING id)
            INSERT INTO delivery_attempt (
                delivery_id, number, is_replay, attempted_at, duration_ms)
            SELECT id, 2, true, now(), 1 FROM log_row
            """
        )
        async let removed = fixture.stores.retention.pruneDeliveryLog(
            olderThan: .seconds(-60),
            after: nil
        )
        try await fixture.eventuallyWaits(for: recorder)
        _ = try await recorder.execute("COMMIT")
        await recorder.close()
        #expect(try await removed.removed == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery_attempt") == 0)
    }

    @Test func sweepsGoThroughATableInBatches() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO client_string_change (task_id, through_sequence)
            SELECT gen_random_uuid(), n FROM generate_series(1, 2500) n
            """
        )
        var position: ClientStringPosition?
        var removed: [Int] = []
        repeat {
            let sweep = try await fixture.stores.retention.pruneClientStringChanges(after: position)
            removed.append(sweep.removed)
            position = sweep.position
        } while position != nil
        #expect(removed == [1000, 1000, 500])
    }

    @Test func oneInstanceAtATimeRemovesRows() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(1)
        try await age(1, byDays: 31, fixture)
        try await fixture.aside.executeScript(
            """
            BEGIN;
            SELECT pg_advisory_xact_lock(
                x'74726672'::int, hashtext(current_schema() || ' defaultPartitions'))
            """
        )
        #expect(
            try await fixture.stores.partitions.pruneDefaultPartition(
                of: .events,
                olderThan: Self.month
            ) == 0
        )
        try await fixture.aside.executeScript("COMMIT")
        #expect(
            try await fixture.stores.partitions.pruneDefaultPartition(
                of: .events,
                olderThan: Self.month
            ) == 1
        )
    }

    @Test func aLoggedDeliveryThatExpiresMeanwhileIsKept() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO delivery_log (id, subscription_id, session_id, sequence, state)
            VALUES ('01800000-0000-7000-8000-000000000001', \(id.uuid), gen_random_uuid(), 7,
                'waiting')
            """
        )
        let expiry = try await TestDatabase.current.connection()
        _ = try await expiry.execute("BEGIN")
        _ = try await expiry.execute(
            "UPDATE delivery_log SET state = 'expired', died_at = now(), batch_first = 3"
        )
        async let sweep = fixture.stores.retention.pruneDeliveryLog(
            olderThan: Self.month,
            after: nil
        )
        try await fixture.eventuallyWaits(for: expiry)
        _ = try await expiry.execute("COMMIT")
        await expiry.close()
        #expect(try await sweep.removed == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery_log") == 1)
    }
}
