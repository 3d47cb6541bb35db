import Foundation
import Synchronization
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Limits of tasks, sessions and tenants, and their change while tasks run.
///
/// Times are compared only in the direction that a slow machine cannot spoil.
@Suite(.postgresSchema, .timeLimit(.minutes(3))) struct EngineBandwidthTests {
    private static let body = OriginBody.random(seed: 81, size: 500_000)

    enum Owner: CaseIterable { case task, session, tenant }

    /// Sets the limit of the task, of its session or of its tenant.
    private func limit(
        _ owner: Owner,
        of id: TaskID,
        to rate: Int64?,
        _ fixture: EngineFixture
    ) async throws {
        switch owner {
        case .task: try await limit(task: id, rate, fixture)
        case .session: try await limit(session: rate, fixture)
        case .tenant: try await limit(tenant: rate, fixture)
        }
    }

    private func limit(session: Int64?, _ fixture: EngineFixture) async throws {
        try await fixture.putSession(SessionConfiguration(totalBytesPerSecondMax: session))
    }

    private func limit(tenant: Int64?, _ fixture: EngineFixture) async throws {
        let isKnown = try await fixture.stores.tenants.limitTenant(
            named: "test",
            changes: TenantLimitChanges(totalBytesPerSecondMax: tenant)
        )
        #expect(isKnown)
    }

    private func limit(task id: TaskID, _ rate: Int64?, _ fixture: EngineFixture) async throws {
        var change = TaskChange()
        change.bytesPerSecondMax = .some(rate)
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
    }

    private func submit(_ count: Int, _ fixture: EngineFixture) async throws -> [TaskID] {
        var ids: [TaskID] = []
        for _ in 0..<count { ids.append(try await fixture.submit(fixture.origin.url("/file"))) }
        return ids
    }

    @Test func theTasksOfASessionShareItsLimit() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        try await limit(session: 500_000, fixture)
        let ids = try await submit(2, fixture)
        let started = ContinuousClock.now
        try await fixture.withEngine { _ in try await fixture.expectCompletion(ids) }
        // Less the bytes on their way when the rate is first measured.
        #expect(ContinuousClock.now - started >= .milliseconds(1800))
    }

    @Test func filesThatFitIntoOnePieceShareItToo() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: .random(seed: 82, size: 10_000)))
        try await limit(session: 200_000, fixture)
        let ids = try await submit(40, fixture)
        let started = ContinuousClock.now
        try await fixture.withEngine { _ in try await fixture.expectCompletion(ids) }
        // The last pieces of the connections do not wait for each other.
        #expect(ContinuousClock.now - started >= .milliseconds(1500))
    }

    @Test func theSessionsOfATenantShareItsLimit() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        try await limit(tenant: 500_000, fixture)
        let id = try await submit(1, fixture)[0]
        _ = try await fixture.stores.sessions.putSession(
            tenant: fixture.tenant,
            identifier: "other",
            configuration: SessionConfiguration()
        )
        let other = TaskSubmission(
            id: TaskID(.version7()),
            url: fixture.origin.url("/file"),
            hostKey: HostKey(rawValue: 1)
        )
        _ = try await fixture.stores.submissions.submit(
            [other],
            tenant: fixture.tenant,
            sessionIdentifier: "other"
        )
        let ids = [id, other.id]
        let started = ContinuousClock.now
        try await fixture.withEngine { _ in try await fixture.expectCompletion(ids) }
        #expect(ContinuousClock.now - started >= .milliseconds(1800))
    }

    @Test func theWorkersOfAFleetShareIt() async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 83, size: 1_500_000)
        fixture.origin.when("/file", .response(body: body))
        try await limit(session: 500_000, fixture)
        let ids = try await submit(2, fixture)
        let started = ContinuousClock.now
        // Each has one task.
        try await fixture.withEngine {
            $0.concurrency = 1
        } _: { _ in
            try await fixture.withEngine {
                $0.concurrency = 1
            } _: { _ in
                try await eventually("both run") {
                    let states = [
                        try await fixture.task(ids[0]).state,
                        try await fixture.task(ids[1]).state,
                    ]
                    return !states.contains(.queued)
                }
                for id in ids {
                    try await eventually("it has ended") {
                        try await fixture.task(id).state == .completed
                    }
                }
            }
        }
        // Six seconds, less the excess that the first may have until it knows of the second; with
        // the whole limit for each worker it would be three.
        #expect(ContinuousClock.now - started >= .milliseconds(4500))
    }

    /// At the first limit the rest would take most of an hour.
    @Test(arguments: Owner.allCases)
    func aLimitIsLiftedWhileTheTaskRuns(owner: Owner) async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 84, size: 3_000_000)
        fixture.origin.when("/file", .response(body: body))
        let id = try await submit(1, fixture)[0]
        try await limit(owner, of: id, to: 1024, fixture)
        try await fixture.withEngine { _ in
            try await eventually("the first bytes") {
                try await fixture.task(id).bytesReceived > 0
            }
            let attempt = try await fixture.task(id).attempt
            try await limit(owner, of: id, to: nil, fixture)
            let task = try await fixture.ended(id)
            #expect(task.state == .completed)
            // The same attempt: nothing was started again.
            #expect(task.attempt == attempt)
            #expect(fixture.origin.log.now.requests.count == 1)
            #expect(OriginBody.sha256(of: try fixture.content(task)) == body.sha256)
        }
    }

    @Test(arguments: Owner.allCases)
    func aLimitIsSetWhileTheTaskRuns(owner: Owner) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when(
            "/file",
            OriginScript([.head(200), .forever([UInt8](repeating: 0x61, count: 65_536))])
        )
        let id = try await submit(1, fixture)[0]
        try await fixture.withEngine { _ in
            try await eventually("a fast stream") {
                try await fixture.task(id).bytesReceived > 1_000_000
            }
            try await limit(owner, of: id, to: 1024, fixture)
            var sample: (bytes: Int64, at: ContinuousClock.Instant)?
            try await eventually("a slow stream") {
                let asked = ContinuousClock.now
                let bytes = try await fixture.task(id).bytesReceived
                guard let last = sample, bytes - last.bytes < 65_536 else {
                    sample = (bytes, .now)
                    return false
                }
                return asked - last.at > .seconds(2)
            }
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        }
    }

    /// A byte of it counts when it comes and when it is sent on, so that a copy has half the speed
    /// of a download with the same part, and not less.
    @Test func aCopyKeepsItsPartBesideADownload() async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 87, size: 1_000_000)
        let endless = [UInt8](repeating: 0x61, count: 16_384)
        fixture.origin.when("/file", OriginScript([.head(200), .forever(endless)]))
        fixture.origin.when("/source", .response(body: body))
        fixture.origin.when("/in", .response(201))
        try await limit(session: 800_000, fixture)
        let download = try await submit(1, fixture)[0]
        try await fixture.withEngine { _ in
            try await eventually("the download runs") {
                try await fixture.task(download).bytesReceived > 0
            }
            let source = CopySource.remote(url: fixture.origin.url("/source"), headers: [])
            let copy = try await fixture.submit(fixture.origin.url("/in")) {
                $0.request = TransferRequest(upload: .copy(source))
            }
            let before = try await fixture.task(download).bytesReceived
            try await fixture.expectCompletion([copy])
            let after = try await fixture.task(download).bytesReceived
            #expect(after - before < 4 * Int64(body.count))
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: download)
        }
    }

    @Test func aRedirectIsNoWayAroundALimit() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let head = [("Location", fixture.origin.url("/file")), ("Content-Length", "0")]
        fixture.origin.when("/first", OriginScript([.wait(gate), .head(302, head)]))
        fixture.origin.when("/file", .response(body: Self.body))
        fixture.origin.when("/small", .response(body: .text("small")))
        try await limit(session: 400_000, fixture)
        try await fixture.withEngine { _ in
            let id = try await fixture.submit(fixture.origin.url("/first"))
            await fixture.origin.log.arrived(1)
            // It ends only when all that share the limit have been counted.
            let other = try await fixture.submit(fixture.origin.url("/small"))
            try await fixture.expectCompletion([other])
            let started = ContinuousClock.now
            gate.open()
            try await fixture.expectCompletion([id])
            #expect(ContinuousClock.now - started >= .milliseconds(1000))
        }
    }

    @Test func whatASmallFileOwesIsOwedByTheNext() async throws {
        let fixture = try await EngineFixture()
        try await limit(session: 5000, fixture)
        let small = OriginBody.random(seed: 85, size: 10_000)
        // Not later than the receipt of the first file, from which its debt counts.
        let started = Mutex<ContinuousClock.Instant?>(nil)
        fixture.origin.when("/file") { _ in
            started.withLock { $0 = $0 ?? ContinuousClock.now }
            return .response(body: small)
        }
        let gate = OriginGate()
        let clock = OriginBody.random(seed: 86, size: 2000)
        fixture.origin.when("/clock", .gated(clock, after: 1000, gate))
        try await fixture.withEngine { _ in
            let first = try await submit(1, fixture)
            try await fixture.expectCompletion(first)
            // Data of another session stored by the worker shows that it has looked again
            // meanwhile.
            _ = try await fixture.stores.sessions.putSession(
                tenant: fixture.tenant,
                identifier: "other",
                configuration: SessionConfiguration()
            )
            let other = TaskSubmission(
                id: TaskID(.version7()),
                url: fixture.origin.url("/clock"),
                hostKey: HostKey(rawValue: 1)
            )
            _ = try await fixture.stores.submissions.submit(
                [other],
                tenant: fixture.tenant,
                sessionIdentifier: "other"
            )
            try await fixture.received(1000, of: other.id)
            let second = try await submit(1, fixture)
            try await fixture.expectCompletion(second)
            let start = try #require(started.withLock { $0 })
            #expect(ContinuousClock.now - start >= .milliseconds(1700))
            gate.open()
            try await fixture.expectCompletion([other.id])
        }
    }
}
