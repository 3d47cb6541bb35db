import Curl
import Foundation
import Logging
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// What an engine does for clients and their background tasks, beside their transfers.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineTimerTests {
    private static let task = BackgroundTaskIdentifier(stored: "task")
    private static let body = OriginBody.random(seed: 18, size: 2_000_000)

    private func clock(_ fixture: EngineFixture) async throws -> BackgroundClock {
        BackgroundClock(fixture.stores, try await TestDatabase.current.connection())
    }

    private func lifecycle(_ fixture: EngineFixture) async throws -> Client.Lifecycle? {
        try await fixture.stores.clients.client(tenant: fixture.tenant, id: .default)?.lifecycle
    }

    @Test func theTransfersOfAnExpiredRunAreCancelledAndNoOthers() async throws {
        let fixture = try await EngineFixture()
        let (stores, tenant) = (fixture.stores, fixture.tenant)
        let gate = OriginGate()
        for path in ["/linked", "/other"] {
            fixture.origin.when(path, .gated(Self.body, after: 1000, gate))
        }
        let linked = try await fixture.submit(fixture.origin.url("/linked"))
        let other = try await fixture.submit(fixture.origin.url("/other"))
        try await fixture.submitRequest(Self.task) { $0.cancelsTransfersAtExpiry = true }
        let clock = try await clock(fixture)
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(100)
        } _: { _ in
            let run = try await launched(fixture)
            _ = try await stores.runs.linkTransfers([linked], to: run.id, of: tenant)
            for id in [linked, other] { try await fixture.received(1000, of: id) }
            try await clock.move(601)
            let task = try await fixture.ended(linked)
            #expect(task.state == .cancelled)
            #expect(try await stores.runs.run(run.id, of: tenant)?.state == .expired)
            #expect(try await fixture.task(other).state == .running)
            gate.open()
            #expect(try await fixture.ended(other).state == .completed)
        }
    }

    @Test func whatCannotBeLookedAtHoldsUpNoLaunch() async throws {
        let fixture = try await EngineFixture()
        let aside = try await TestDatabase.current.connection()
        try await fixture.submitRequest(Self.task)
        // Runs are looked at with their transfers, and requests without.
        _ = try await aside.execute("ALTER TABLE background_task_transfer RENAME TO elsewhere")
        try await fixture.withEngine { _ in
            try await eventually("the engine launches it") {
                try await !aside.execute("SELECT id FROM background_task_run").isEmpty
            }
        }
    }

    @Test func aRequestThatCannotBeDecidedHoldsUpNoOther() async throws {
        let fixture = try await EngineFixture()
        let aside = try await TestDatabase.current.connection()
        try await fixture.submitRequest(BackgroundTaskIdentifier(stored: "broken"))
        try await fixture.submitRequest(Self.task)
        _ = try await aside.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'refused';
            END $$
            """
        )
        _ = try await aside.execute(
            """
            CREATE TRIGGER refuse BEFORE UPDATE ON background_task_request
            FOR EACH ROW WHEN (old.identifier = 'broken') EXECUTE FUNCTION refuse()
            """
        )
        try await fixture.withEngine { _ in
            let run = try await launched(fixture)
            #expect(run.identifier == Self.task)
        }
        #expect(try await waits(fixture) == [.date])
    }

    /// Returns the run that the engine has launched.
    private func launched(_ fixture: EngineFixture) async throws -> BackgroundTaskRun {
        var run: BackgroundTaskRun?
        try await eventually("the engine launches it") {
            run = try await fixture.stores.runs.runs(
                of: .default,
                tenant: fixture.tenant,
                before: nil,
                limit: 1
            ).first
            return run != nil
        }
        return try #require(run)
    }

    /// Its client is suspended after the grace, or terminated because of a leak, while the bytes
    /// are on their way.
    @Test(arguments: [Client.Lifecycle.suspended, .terminated])
    func anUploadOutlivesItsClient(lifecycle: Client.Lifecycle) async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/in", OriginScript([.wait(gate), .head(201), .close]))
        try fixture.place(Self.body.bytes, at: "out/file")
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(method: "PUT", upload: .file(path: "out/file"))
        }
        if lifecycle == .terminated {
            _ = try await fixture.stores.assertions.beginAssertion(
                AssertionID(.version7()),
                named: "upload",
                by: .default,
                of: fixture.tenant
            )
        }
        let clock = try await clock(fixture)
        try await fixture.withEngine { _ in
            try await eventually("the upload runs") {
                try await fixture.task(id).state == .running
            }
            _ = try await fixture.stores.clients.enterBackground(
                tenant: fixture.tenant,
                id: .default
            )
            try await clock.move(300)
            try await eventually("the client is gone") {
                try await self.lifecycle(fixture) == lifecycle
            }
            #expect(try await fixture.task(id).state == .running)
            gate.open()
            let task = try await fixture.ended(id)
            #expect(task.state == .completed)
            #expect(task.bytesSent == Int64(Self.body.count))
        }
    }

    /// A service that starts during an outage does not know of it before its first probe ends.
    @Test func whatNeedsTheNetworkWaitsForTheFirstProbe() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when(
            "/probe",
            OriginScript([.wait(gate), .head(200, [("Content-Length", "0")])])
        )
        try await fixture.submitRequest(Self.task) { $0.requiresNetworkConnectivity = true }
        let probe = fixture.origin.url("/probe")
        try await fixture.withEngine {
            $0.networkProbeURL = probe
        } _: { engine in
            #expect(!engine.isNetworkReachable)
            try await eventually("it waits") { try await waits(fixture) == [.network] }
            gate.open()
            #expect(try await launched(fixture).state == .launched)
        }
        #expect(NetworkStatus(isProbed: false).isReachable)
    }

    @Test func aProbeThatGetsNoResponseHoldsBackWhatNeedsTheNetwork() async throws {
        let fixture = try await EngineFixture()
        try await fixture.submitRequest(Self.task) { $0.requiresNetworkConnectivity = true }
        let curl = try CurlLoop(name: "probe")
        defer { curl.stop() }
        let status = NetworkStatus(isProbed: true)
        let probe = NetworkProbe(
            url: fixture.origin.url("/probe"),
            curl: curl,
            egress: EgressGuard { _ in true },
            status: status,
            timers: fixture.stores.timers,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onTimers: {}
        )
        fixture.origin.when("/probe", OriginScript([.reset]))
        _ = try await probe.turn()
        #expect(!status.isReachable)
        try await fixture.stores.advanceTimers(hasNetwork: status.isReachable)
        #expect(try await waits(fixture) == [.network])
        // Any response will do.
        fixture.origin.when("/probe", .response(503))
        try await eventually("the network is there") {
            _ = try await probe.turn()
            return status.isReachable
        }
        try await fixture.stores.advanceTimers(hasNetwork: status.isReachable)
        #expect(try await waits(fixture).isEmpty)
        #expect(try await launched(fixture).state == .launched)
    }

    @Test func theOperatorsWordHoldsBackWhatNeedsIdleCapacity() async throws {
        let fixture = try await EngineFixture()
        try await fixture.submitRequest(Self.task) { $0.requiresExternalPower = true }
        try await fixture.withEngine {
            $0.capacity = .busy
        } _: { _ in
            try await eventually("it waits for capacity") {
                try await waits(fixture) == [.capacity]
            }
        }
        // The next instance is started with another word.
        let clock = try await clock(fixture)
        try await clock.move(61)
        try await fixture.withEngine { _ in
            let run = try await launched(fixture)
            #expect(run.state == .launched)
        }
    }

    private func waits(_ fixture: EngineFixture) async throws -> [RequestWait.Reason] {
        try await fixture.stores.requests.pendingRequests(of: .default, tenant: fixture.tenant)
            .map(\.wait.reason)
    }
}
