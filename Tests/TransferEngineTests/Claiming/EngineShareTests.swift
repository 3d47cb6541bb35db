import Foundation
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
