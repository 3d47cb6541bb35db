import Foundation
import Postgres
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Several workers on one database.
@Suite(.postgresSchema, .timeLimit(.minutes(3))) struct EngineFleetTests {
    private static let body = OriginBody.random(seed: 3, size: 20_000)

    /// Returns the number of attempts of each worker.
    private func running() async throws -> [Int32: Int] {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(
            "SELECT worker, count(*) AS count FROM running_attempt GROUP BY worker"
        )
        await connection.close()
        var counts: [Int32: Int] = [:]
        for row in rows {
            counts[try row.decode("worker")] = Int(try row.decode("count", as: Int64.self))
        }
        return counts
    }

    /// As when another worker was stopped while it took some.
    @Test func whoCannotTakeShardsClaimsFromThoseThatItHas() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let holder = try await TestDatabase.current.connection()
        try await fixture.withEngine { _ in
            try await fixture.expectCompletion([
                try await fixture.submit(fixture.origin.url("/file"))
            ])
            try await holder.executeScript(
                """
                BEGIN;
                SELECT pg_advisory_xact_lock(x'73686172'::integer, hashtext(current_schema()))
                """
            )
            try await eventually("the worker waits for its turn to take shards") {
                try await !holder.execute(
                    """
                    SELECT 1 AS one FROM pg_locks
                    WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
                    """
                ).isEmpty
            }
            let id = try await fixture.submit(fixture.origin.url("/file"))
            try await eventually("the task has ended", within: .seconds(60)) {
                try await fixture.task(id).state == .completed
            }
            try await holder.executeScript("ROLLBACK")
        }
    }

    /// Hosts change workers while their tasks run, and never does one have more connections than it
    /// may.
    @Test func aHostsCapHoldsWhenTheHostChangesHands() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/held", .gated(Self.body, after: 1000, gate))
        fixture.origin.when("/free", .response(body: Self.body))
        // Enough busy hosts that some of them go to the second worker.
        let (busy, idle) = (Shard.all.prefix(40), Shard.all.suffix(24))
        var held: [TaskID] = []
        for shard in busy {
            for _ in 0..<4 {
                held.append(
                    try await fixture.submit(fixture.origin.url("/held")) {
                        $0.hostKey = HostKey(rawValue: shard.hostKeys.lowerBound)
                        // Held for as long as a busy machine needs for the rest.
                        $0.options.timeoutForRequest = .seconds(600)
                    }
                )
            }
        }
        let change: @Sendable (inout EngineConfiguration) -> Void = { $0.connectionsPerHost = 2 }
        let all = held
        try await fixture.withEngine(change) { _ in
            await fixture.origin.log.arrived(80, at: "/held")
            try await fixture.withEngine(change) { _ in
                try await eventually("each has its share") { try await shares() == [32, 32] }
                // The second one has all idle hosts, and so has claimed once this has ended.
                for shard in idle {
                    let id = try await fixture.submit(fixture.origin.url("/free")) {
                        $0.hostKey = HostKey(rawValue: shard.hostKeys.lowerBound)
                    }
                    try await fixture.expectCompletion([id])
                }
                let counts = try await running()
                #expect(counts.values.sorted() == [80], "\(counts)")
                gate.open()
                try await fixture.expectCompletion(all)
            }
        }
        try await fixture.expectNoParts()
    }

    /// A worker that has claimed ahead of its connections releases its hosts all the same, and each
    /// task runs at one of the workers.
    @Test func hostsOfManySmallFilesChangeHands() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/small", .response(body: Self.body))
        let change: @Sendable (inout EngineConfiguration) -> Void = { $0.connectionsPerHost = 1 }
        var ids: [TaskID] = []
        for shard in Shard.all {
            for _ in 0..<24 {
                ids.append(
                    try await fixture.submit(fixture.origin.url("/small")) {
                        $0.hostKey = HostKey(rawValue: shard.hostKeys.lowerBound)
                    }
                )
            }
        }
        let all = ids
        try await fixture.withEngine(change) { _ in
            await fixture.origin.log.arrived(100, at: "/small")
            try await fixture.withEngine(change) { _ in
                try await eventually("each has its share") { try await shares() == [32, 32] }
            }
            try await fixture.expectCompletion(all)
        }
        #expect(try await running().isEmpty)
        try await fixture.expectNoParts()
    }

    /// Returns the number of shards of each worker.
    private func shares() async throws -> [Int64] {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(
            "SELECT count(*) AS count FROM shard WHERE worker IS NOT NULL GROUP BY worker"
        )
        await connection.close()
        return try rows.map { row in try row.decode("count") }
    }

    @Test func bothWorkersClaimWhatIsTheirs() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file", .gated(Self.body, after: 1000, gate))
        try await fixture.withEngine { _ in
            try await fixture.withEngine { _ in
                try await eventually("each has its share") { try await shares() == [32, 32] }
                var ids: [TaskID] = []
                for shard in Shard.all {
                    ids.append(
                        try await fixture.submit(fixture.origin.url("/file")) {
                            $0.hostKey = HostKey(rawValue: shard.hostKeys.upperBound)
                        }
                    )
                }
                try await eventually("all are begun") {
                    try await running().values.sorted() == [32, 32]
                }
                gate.open()
                try await fixture.expectCompletion(ids)
            }
            // A worker that leaves keeps nothing.
            try await eventually("the first has all again") { try await shares() == [64] }
        }
    }
}
