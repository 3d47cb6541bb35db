import Foundation
import PollLoop
import Postgres
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// A tenant beside another one whose downloads never end.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineShareTests {
    private static let body = OriginBody.random(seed: 9, size: 20_000)

    /// Submits downloads that never end, equally many to each of several hosts.
    private func flood(
        _ fixture: EngineFixture,
        _ count: Int,
        hosts: Int = 1,
        _ gate: OriginGate
    ) async throws -> [TaskID] {
        fixture.origin.when("/drip", .gated(Self.body, after: 1000, gate))
        var ids: [TaskID] = []
        for number in 0..<count {
            ids.append(
                try await fixture.submit(fixture.origin.url("/drip")) {
                    $0.hostKey = HostKey(rawValue: Int64(number % hosts))
                    $0.options.timeoutForRequest = .seconds(600)
                }
            )
        }
        return ids
    }

    @Test func allSlotsOfOneTenantLeaveSomeForAnother() async throws {
        let fixture = try await EngineFixture()
        let other = try await fixture.anotherTenant()
        let gate = OriginGate()
        fixture.origin.when("/file", .response(body: Self.body))
        let flood = try await flood(fixture, 60, hosts: 10, gate)
        try await fixture.withEngine {
            $0.concurrency = 16
        } _: { _ in
            await fixture.origin.log.arrived(16, at: "/drip")
            let quiet = try await fixture.submit(fixture.origin.url("/file"), of: other) {
                $0.hostKey = HostKey(rawValue: 77)
            }
            try await eventually("the other one's file is there") {
                let task = try await fixture.stores.tasks.task(tenant: other, id: quiet)
                return task?.state == .completed
            }
            // No attempt had to give way for it.
            #expect(fixture.origin.log.now.requests(at: "/drip").count == 16)
            gate.open()
            try await fixture.expectCompletion(flood)
        }
    }

    @Test func aTenantIsThereByItsTasks() async throws {
        let fixture = try await EngineFixture()
        let presence = TenantPresence()
        let before = ContinuousClock.now
        fixture.origin.when("/file", .response(body: Self.body))
        try await fixture.withEngine(pace: ClaimPace(beside: presence)) { _ in
            #expect(presence.isAlone(TenantID(UUID()), at: before))
            try await fixture.expectCompletion([fixture.submit(fixture.origin.url("/file"))])
            #expect(!presence.isAlone(TenantID(UUID()), at: before))
            #expect(presence.isAlone(fixture.tenant, at: before))
        }
    }

    /// With nothing but the pace to wait for: no download ends, and no poll comes in time.
    @Test func besideAnotherTenantFewBeginAtOnceAndAllInTheEnd() async throws {
        let fixture = try await EngineFixture()
        let presence = TenantPresence()
        presence.note(TenantID(UUID()), at: .now + .seconds(3600))
        // The first period lasts until nothing else wakes the claimer any more.
        let pace = ClaimPace(
            beside: presence,
            limit: WorkLimit(min: 3, max: 3),
            at: .now + .seconds(1)
        )
        let gate = OriginGate()
        fixture.origin.when("/held", .gated(Self.body, after: 0, gate))
        let url = fixture.origin.url("/held")
        let flood = UUID.consecutiveVersion7(count: 40).map {
            TaskSubmission(id: TaskID($0), url: url, hostKey: HostKey(rawValue: 1))
        }
        _ = try await fixture.stores.submissions.submit(
            flood,
            tenant: fixture.tenant,
            sessionIdentifier: EngineFixture.identifier
        )
        let aside = try await TestDatabase.current.connection()
        try await fixture.withEngine(pace: pace) {
            $0.connectionsPerHost = 64
            $0.pollInterval = .seconds(600)
        } _: { _ in
            await fixture.origin.log.arrived(flood.count, at: "/held")
            // One row for what a claim began.
            let rows = try await aside.execute(
                "SELECT cardinality(task_ids) AS count FROM attempt_run"
            )
            let counts = try rows.map { try $0.decode("count", as: Int32.self) }
            #expect(counts.reduce(0, +) == flood.count && counts.allSatisfy { $0 <= 3 })
            gate.open()
            try await fixture.expectCompletion(flood.map(\.id))
        }
        await aside.close()
    }

    @Test func oneOfManyDownloadsFromAHostGivesWayToAnotherTenant() async throws {
        let fixture = try await EngineFixture()
        let other = try await fixture.anotherTenant()
        let gate = OriginGate()
        fixture.origin.when("/file", .response(body: Self.body))
        let flood = try await flood(fixture, 20, gate)
        try await fixture.withEngine { _ in
            await fixture.origin.log.arrived(6, at: "/drip")
            for _ in 0..<3 {
                let quiet = try await fixture.submit(fixture.origin.url("/file"), of: other) {
                    $0.hostKey = HostKey(rawValue: 0)
                }
                try await eventually("the other one's file is there") {
                    let task = try await fixture.stores.tasks.task(tenant: other, id: quiet)
                    return task?.state == .completed
                }
            }
            gate.open()
            try await fixture.expectCompletion(flood)
        }
        // Giving way was not counted as an attempt of theirs.
        for id in flood {
            let attempts = try await fixture.attempts(id)
            #expect(attempts.last?.number == 1)
        }
    }
}
