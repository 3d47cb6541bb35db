import Foundation
import Postgres
import Synchronization
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The feed of a tenant has each event of all its logs once, at a position that never changes.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct FeedTests {
    /// Returns what a reader sees that begins behind `position` and reads to the end.
    private func read(
        _ fixture: StoreFixture,
        after position: Int64 = 0,
        limit: Int = 100
    ) async throws -> [PositionedEvent] {
        _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
        var found: [PositionedEvent] = []
        var place = position
        while true {
            let page = try await fixture.stores.events.feed(
                of: fixture.tenant,
                after: place,
                limit: limit
            )
            let through = try #require(page.through)
            found += page.events
            if through == place { return found }
            place = through
        }
    }

    /// Returns the identifiers of all events in the database, by their logs.
    private func stored(_ fixture: StoreFixture) async throws -> [[UUID]] {
        let rows = try await fixture.aside.execute(
            "SELECT array_agg(id ORDER BY sequence) AS ids FROM event GROUP BY session_id"
        )
        return try rows.map { try $0.decode("ids") }
    }

    private func expectEachOnceInOrder(
        _ found: [PositionedEvent],
        _ fixture: StoreFixture
    ) async throws {
        #expect(found.map(\.position) == (0..<found.count).map { Int64($0 + 1) })
        let logs = try await stored(fixture)
        #expect(found.count == logs.reduce(0) { $0 + $1.count })
        let read = Dictionary(grouping: found.map(\.event), by: \.session)
        #expect(Set(read.values.map { $0.map(\.id) }) == Set(logs))
    }

    /// Puts events of all kinds of logs into the database.
    private func fill(_ fixture: StoreFixture) async throws {
        for name in ["a", "b", "c"] { try await fixture.putSession(name) }
        try await fixture.submit(300, to: "a")
        try await fixture.submit(3, to: "b")
        _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
        try await fixture.submit(1, to: "c")
        try await fixture.complete(try await fixture.claim(200))
        for name in ["b", "c"] {
            _ = try await fixture.stores.sessions.finishSession(
                tenant: fixture.tenant,
                identifier: name
            )
        }
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        _ = try await fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: .default)
    }

    @Test(arguments: [1, 2, 7, 128, 129, 1000])
    func pagesOfAnySizeHaveEachEventOnceInTheOrderOfItsSession(limit: Int) async throws {
        let fixture = try await StoreFixture()
        try await fill(fixture)
        try await expectEachOnceInOrder(try await read(fixture, limit: limit), fixture)
        try await fixture.checkInvariants()
    }

    @Test func aPositionLeadsToTheSameEventFromEverywhere() async throws {
        let fixture = try await StoreFixture()
        try await fill(fixture)
        let all = try await read(fixture)
        for position in [0, 1, 127, 128, 255, 299, 300, 303, 304, Int64(all.count)] {
            let rest = try await read(fixture, after: position, limit: 64)
            #expect(rest.map(\.event.id) == all.dropFirst(Int(position)).map(\.event.id))
        }
        let bounds = try await fixture.stores.events.oldestPosition(ofFeed: fixture.tenant)
        #expect(bounds == 1)
    }

    /// Transactions of several statements that take turns, commit or are rolled back, beside those
    /// who fold and a reader who is never told to wait.
    @Test func aReaderFromBehindMissesAndRepeatsNothing() async throws {
        let fixture = try await StoreFixture(connectionsMax: 12)
        var sessions: [Session] = []
        for number in 0..<6 { sessions.append(try await fixture.putSession("s\(number)")) }
        // In the order in which every statement locks them.
        let names = sessions.sorted { $0.id.uuid < $1.id.uuid }.map(\.identifier)
        let isOver = TestFlag()
        let found = try await withThrowingTaskGroup(
            of: [PositionedEvent].self
        ) { group in
            for number in 0..<5 {
                group.addTask {
                    try await write(UInt64(number), names, fixture)
                    return []
                }
            }
            group.addTask {
                while !isOver.isSet, !Task.isCancelled {
                    _ = try await fixture.stores.counts.foldMoves()
                }
                return []
            }
            // Another instance's readers extend the feed too.
            group.addTask {
                while !isOver.isSet, !Task.isCancelled {
                    _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
                }
                return []
            }
            group.addTask { try await follow(fixture, until: isOver) }
            for _ in 0..<5 { _ = try await group.next() }
            isOver.set()
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let rest = try await read(fixture, after: found.last?.position ?? 0)
        try await expectEachOnceInOrder(found + rest, fixture)
        #expect(!found.isEmpty)
        try await fixture.checkInvariants()
    }

    /// Reads what comes, with pages of all sizes.
    private func follow(
        _ fixture: StoreFixture,
        until isOver: TestFlag
    ) async throws -> [PositionedEvent] {
        var random = SeededGenerator(state: 99)
        var found: [PositionedEvent] = []
        var place: Int64 = 0
        while !isOver.isSet, !Task.isCancelled {
            let page = try await fixture.stores.events.feed(
                of: fixture.tenant,
                after: place,
                limit: Int.random(in: 1...40, using: &random)
            )
            let through = try #require(page.through)
            found += page.events
            place = through
        }
        return found
    }

    /// Submits, completes and rolls back in transactions of one connection.
    private func write(_ seed: UInt64, _ names: [String], _ fixture: StoreFixture) async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1) {
            $0.serverSettings = Database.serverSettings
        }
        let stores = Stores(Database(pool: pool))
        var random = SeededGenerator(state: seed)
        for _ in 0..<30 {
            _ = try await pool.execute("BEGIN")
            let first = Int.random(in: 0..<names.count, using: &random)
            let second = Int.random(in: first..<names.count, using: &random)
            for name in names[first...second] {
                _ = try await stores.submissions.submit(
                    StoreFixture.submissions(Int.random(in: 1...5, using: &random)),
                    tenant: fixture.tenant,
                    sessionIdentifier: name
                )
                for _ in 0..<Int.random(in: 0...20, using: &random) { await Task.yield() }
            }
            let isKept = Int.random(in: 0..<4, using: &random) > 0
            _ = try await pool.execute(isKept ? "COMMIT" : "ROLLBACK")
            guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
            let claims = try await fixture.claim(10)
            if Bool.random(using: &random) {
                try await fixture.complete(claims)
            } else {
                try await fixture.end(claims, .failed(StoreFixture.failure))
            }
        }
    }

    /// A transaction that writes events delays those events, and no transaction delays others.
    @Test func aLongTransactionDelaysOnlyItsOwnEvents() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("other")
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        _ = try await pool.execute("BEGIN")
        let late = try await Stores(Database(pool: pool)).submissions.submit(
            StoreFixture.submissions(2),
            tenant: fixture.tenant,
            sessionIdentifier: "other"
        )
        guard case .accepted = late else {
            Issue.record("not accepted: \(late)")
            return
        }
        try await fixture.submit(3)
        let before = try await read(fixture)
        #expect(before.map(\.event.sessionIdentifier) == Array(repeating: "nightly", count: 3))
        _ = try await pool.execute("COMMIT")
        let after = try await read(fixture, after: 3)
        #expect(after.map(\.event.sessionIdentifier) == ["other", "other"])
        #expect(after.map(\.position) == [4, 5])
    }

    @Test func tenantsSeeOnlyTheirOwn() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
        try await fixture.submit(3)
        let ends = try await fixture.stores.events.extendFeeds(of: [fixture.tenant, other])
        #expect(ends == [fixture.tenant: 3])
        let page = try await fixture.stores.events.feed(of: other, after: 0, limit: 10)
        #expect(page.events.isEmpty && page.through == 0 && page.newest == 0)
    }

    @Test func whatIsErasedIsPassedOver() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(1)
        try await fixture.putSession("hidden", kind: .ephemeral)
        _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
        try await fixture.submit(20, to: "hidden")
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "hidden"
        )
        #expect(try await read(fixture).count == 43)
        let remains = try await fixture.stores.erasure.tasksToErase()
        try await fixture.stores.erasure.erase(remains.map(\.task))
        try await fixture.submit(1)
        for limit in [1, 5, 100] {
            let left = try await read(fixture, limit: limit)
            #expect(left.map(\.position) == [1, 44])
        }
        try await fixture.checkInvariants()
    }

    @Test func whatExpiredIsTold() async throws {
        let fixture = try await StoreFixture()
        try await fixture.aside.executeScript(
            """
            CREATE TABLE event_run_20200106 PARTITION OF event_run
            FOR VALUES FROM ('2020-01-06 00:00:00+00') TO ('2020-01-13 00:00:00+00');
            CREATE TABLE event_feed_20200106 PARTITION OF event_feed
            FOR VALUES FROM ('2020-01-06 00:00:00+00') TO ('2020-01-13 00:00:00+00')
            """
        )
        try await fixture.submit(4)
        _ = try await fixture.aside.execute(
            "UPDATE event_run SET occurred_at = timestamptz '2020-01-07'"
        )
        #expect(try await read(fixture).count == 4)
        try await fixture.submit(2)
        #expect(try await read(fixture).count == 6)
        let rows = try await fixture.count("SELECT count(*) AS count FROM event_feed_20200106")
        #expect(rows == 1)
        // The week of the feed goes with that of the events.
        try await fixture.stores.partitions.dropPartition("event_run_20200106")
        let oldest = try await fixture.stores.events.oldestPosition(ofFeed: fixture.tenant)
        #expect(oldest == 5)
        for position in 0..<4 {
            let page = try await fixture.stores.events.feed(
                of: fixture.tenant,
                after: Int64(position),
                limit: 10
            )
            #expect(page.through == nil && page.oldest == 5 && page.events.isEmpty)
        }
        #expect(try await read(fixture, after: 4).map(\.position) == [5, 6])
        _ = try await fixture.aside.execute(["DELETE FROM event_feed", "DELETE FROM event_run"])
        #expect(try await fixture.stores.events.oldestPosition(ofFeed: fixture.tenant) == 7)
        let none = try await fixture.stores.events.feed(of: fixture.tenant, after: 5, limit: 10)
        #expect(none.through == nil && none.oldest == 7 && none.newest == 6)
    }

    @Test func newWeeksHaveAPartitionOfTheFeed() async throws {
        let fixture = try await StoreFixture()
        for partition in try await fixture.stores.partitions.missingPartitions(of: .feed) {
            #expect(try await fixture.stores.partitions.makePartition(partition))
        }
        try await fixture.submit(2)
        #expect(try await read(fixture).count == 2)
        #expect(try await fixture.count("SELECT count(*) AS count FROM event_feed_default") == 0)
    }

    /// A page is cut where its client strings are too long, and the next one goes on there.
    @Test func longClientStringsEndAPage() async throws {
        let fixture = try await StoreFixture()
        let string = try #require(ClientString(String(repeating: "x", count: 1000)))
        try await fixture.submit(10) { submission, _ in submission.clientString = string }
        _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
        let page = try await fixture.stores.events.feed(
            of: fixture.tenant,
            after: 0,
            limit: 100,
            bytesMax: 2500
        )
        #expect(page.events.map(\.position) == [1, 2, 3])
        #expect(page.through == 3 && page.newest == 10)
    }

    /// Another tenant has a million events, before and after those of this one.
    @Test func aPageCostsWhatItShows() async throws {
        let fixture = try await StoreFixture()
        for log in [PartitionedLog.events, .feed] {
            for partition in try await fixture.stores.partitions.missingPartitions(of: log) {
                #expect(try await fixture.stores.partitions.makePartition(partition))
            }
        }
        let meter = PageMeter()
        try await meter.holdStatistics()
        func pages(after position: Int64, limit: Int, count: Int) async throws -> Int64 {
            try await meter.pages { stores in
                let page = try await stores.events.feed(
                    of: fixture.tenant,
                    after: position,
                    limit: limit
                )
                #expect(page.events.count == count)
            }
        }
        for _ in 0..<5 {
            try await fixture.submit(1)
            _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
        }
        // Plans are made now, and kept.
        _ = try await pages(after: 0, limit: 100, count: 5)
        _ = try await fixture.aside.execute(
            """
            INSERT INTO event_feed
            SELECT '00000000-0000-7000-8000-000000000000', 10 * n, 10 * n - 9, gen_random_uuid(), 1,
                now(), now()
            FROM generate_series(1, 100000) n
            """
        )
        for _ in 0..<5 {
            try await fixture.submit(100)
            _ = try await fixture.stores.events.extendFeeds(of: [fixture.tenant])
        }
        let few = try await pages(after: 0, limit: 5, count: 5)
        #expect(few <= 200, "\(few) pages")
        let one = try await pages(after: 250, limit: 1, count: 1)
        #expect(one <= 80, "\(one) pages")
        let end = try await pages(after: 505, limit: 100, count: 0)
        #expect(end <= 80, "\(end) pages")
        let idle = try await meter.pages { stores in
            _ = try await stores.counts.foldMoves()
            _ = try await stores.events.extendFeeds(of: [fixture.tenant])
        }
        #expect(idle <= 600, "\(idle) pages")
    }
}

/// A flag that tasks of a test share.
private final class TestFlag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
