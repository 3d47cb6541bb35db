import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct ShardStoreTests {
    private func worker(_ fixture: StoreFixture) async throws -> Int32 {
        let worker = try await fixture.stores.workers.registerWorker(
            name: "sharer",
            leasesShards: true
        )
        #expect(
            try await fixture.stores.workers.heartbeat(incarnation: worker, lease: .seconds(10))
        )
        return worker
    }

    /// A worker that got no answer to its registration registers again.
    @Test func whoNeverLearntOfItsRegistrationTakesNoShare() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.stores.workers.registerWorker(name: "lost", leasesShards: true)
        let first = try await fixture.stores.workers.registerWorker(
            name: "first",
            leasesShards: true
        )
        let lease = try await fixture.stores.workers.leaseShards(incarnation: first)
        #expect(lease.shards.count == 64)
        #expect(lease.share == 64)
        #expect(try await fixture.stores.fleet.vitals(silentFor: .seconds(600)).workers == 0)
        #expect(try await fixture.stores.workers.heartbeat(incarnation: first, lease: .seconds(10)))
        #expect(try await fixture.stores.fleet.vitals(silentFor: .seconds(600)).workers == 1)
        _ = try await worker(fixture)
        #expect(try await fixture.stores.fleet.vitals(silentFor: .seconds(600)).workers == 2)
        #expect(try await fixture.stores.workers.leaseShards(incarnation: first).share == 32)
        // Nor is a silent worker counted, whether or not anybody has taken over from it.
        try await fixture.silence(WorkerIdentity(incarnation: first))
        #expect(try await fixture.stores.fleet.vitals(silentFor: .seconds(600)).workers == 1)
    }

    /// A clock that was set back leaves their registrations in the future.
    @Test func whoWasRegisteredBeforeTheClockWasSetBackCounts() async throws {
        let fixture = try await StoreFixture()
        let early = [try await worker(fixture), try await worker(fixture)]
        _ = try await fixture.aside.execute(
            """
            UPDATE worker SET started_at = started_at + interval '1 hour'
            WHERE incarnation = ANY (\(early))
            """
        )
        for incarnation in early {
            #expect(
                try await fixture.stores.workers.heartbeat(
                    incarnation: incarnation,
                    lease: .seconds(10)
                )
            )
        }
        let third = try await worker(fixture)
        #expect(try await fixture.stores.workers.leaseShards(incarnation: third).share == 22)
        #expect(try await fixture.stores.fleet.vitals(silentFor: .seconds(600)).workers == 3)
    }

    @Test func workersShareTheShards() async throws {
        let fixture = try await StoreFixture()
        let first = try await worker(fixture)
        let all = try await fixture.stores.workers.leaseShards(incarnation: first)
        #expect(all.shards == Set(Shard.all))
        #expect(all.share == 64)
        let second = try await worker(fixture)
        // As long as the first one has all shards, none are left.
        #expect(try await fixture.stores.workers.leaseShards(incarnation: second).shards.isEmpty)
        let half = try await fixture.stores.workers.leaseShards(incarnation: first)
        #expect(half.shards.count == 64)
        #expect(half.share == 32)
        let given = Set(Shard.all.prefix(40))
        try await fixture.stores.workers.releaseShards(given, incarnation: first)
        // But not those of another one.
        try await fixture.stores.workers.releaseShards(Set(Shard.all), incarnation: second)
        let taken = try await fixture.stores.workers.leaseShards(incarnation: second)
        #expect(taken.shards.count == 32)
        #expect(taken.shards.isSubset(of: given))
        // Eight are left, for the one that has 24.
        #expect(try await fixture.stores.workers.leaseShards(incarnation: first).shards.count == 32)
    }

    @Test func whatADeadWorkerHadIsFree() async throws {
        let fixture = try await StoreFixture()
        let dead = try await worker(fixture)
        _ = try await fixture.stores.workers.leaseShards(incarnation: dead)
        try await fixture.stores.workers.retireWorker(incarnation: dead)
        #expect(try await fixture.stores.workers.leaseShards(incarnation: dead).shards.isEmpty)
        let heir = try await worker(fixture)
        #expect(try await fixture.stores.workers.leaseShards(incarnation: heir).shards.count == 64)
        #expect(try await fixture.stores.workers.leaseShards(incarnation: dead).shards.isEmpty)
    }

    @Test func whoNeverClaimsTakesNoShare() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.stores.workers.registerWorker(name: "webhooks only")
        let lease = try await fixture.stores.workers.leaseShards(
            incarnation: try await worker(fixture)
        )
        #expect(lease.shards.count == 64)
        #expect(lease.share == 64)
    }

    @Test func whatTheFormerOwnerRunsIsTold() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(5) { submission, index in
            submission.hostKey = HostKey(rawValue: index < 3 ? 7 : .min)
        }
        let claims = try await fixture.claim()
        let heir = try await worker(fixture)
        _ = try await fixture.stores.workers.leaseShards(incarnation: heir)
        let foreign = try await fixture.stores.workers.foreignAttempts(inShardsOf: heir)
        #expect(foreign.values.sorted() == [2, 3])
        #expect(foreign[claims.first { $0.hostKey.rawValue == 7 }?.flow ?? claims[0].flow] == 3)
        try await fixture.complete(claims.filter { $0.hostKey.rawValue == 7 })
        let later = try await fixture.stores.workers.foreignAttempts(inShardsOf: heir)
        #expect(later.map(\.key.hostKey.rawValue) == [.min])
    }

    /// Workers that come, go and die at any time: no shard is ever two workers' own.
    @Test func noShardIsEverTwoWorkers() async throws {
        let fixture = try await StoreFixture(connectionsMax: 8)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in 0..<6 as Range<UInt64> {
                group.addTask {
                    var generator = SeededGenerator(state: seed)
                    for _ in 0..<6 {
                        let me = try await fixture.stores.workers.registerWorker(
                            name: "sharer",
                            leasesShards: true
                        )
                        var mine: Set<Shard> = []
                        for _ in 0..<5 {
                            let lease = try await fixture.stores.workers.leaseShards(
                                incarnation: me
                            )
                            // All shards that it has had and not given away are still its own.
                            #expect(lease.shards.isSuperset(of: mine))
                            mine = lease.shards
                            let given = Set(
                                mine.shuffled(using: &generator)
                                    .prefix(Int.random(in: 0...mine.count, using: &generator))
                            )
                            try await fixture.stores.workers.releaseShards(given, incarnation: me)
                            mine.subtract(given)
                        }
                        try await fixture.stores.workers.retireWorker(incarnation: me)
                    }
                }
            }
            try await group.waitForAll()
        }
        let heir = try await worker(fixture)
        #expect(try await fixture.stores.workers.leaseShards(incarnation: heir).shards.count == 64)
    }
}
