import Curl
import Synchronization
import Testing
import TransferEngine
import TransferModel
import TransferTestSupport

/// The behaviour of a worker that can no longer be sure to be considered alive.
@Suite(.postgresSchema, .timeLimit(.minutes(3))) struct EngineTrustTests {
    private static let body = OriginBody.random(seed: 5, size: 20_000)

    /// As while the database is away: nobody else takes over, and running attempts must not be
    /// lost.
    @Test func whatRunsGoesOnAndNothingBegins() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let origin = fixture.origin
        origin.when("/running", .gated(Self.body, after: 1000, gate))
        let moved = [("Location", "/elsewhere"), ("Content-Length", "0")]
        origin.when("/moved", OriginScript([.wait(gate), .head(302, moved)]))
        for path in ["/elsewhere", "/waiting"] { origin.when(path, .response(body: Self.body)) }
        let running = try await fixture.submit(origin.url("/running"))
        let redirected = try await fixture.submit(origin.url("/moved"))
        let identity = Mutex<WorkerIdentity?>(nil)
        try await fixture.withEngine {
            // One heartbeat, and no other.
            $0.heartbeatInterval = .seconds(3600)
        } prepare: { worker in
            identity.withLock { $0 = worker }
        } _: { engine in
            for path in ["/running", "/moved"] { await origin.log.arrived(1, at: path) }
            let worker = try #require(identity.withLock { $0 })
            // Its answer sets how long the worker is trusted; until then that is forever.
            try await eventually("the heartbeat was answered") {
                !worker.isTrusted(at: .now + .seconds(3600))
            }
            worker.trust(until: .now)
            let waiting = try await fixture.submit(origin.url("/waiting"))
            engine.wake()
            gate.open()
            #expect(try await fixture.ended(running).state == .completed)
            try await eventually("the redirected task is back in the queue") {
                try await fixture.task(redirected).state == .queued
            }
            #expect(try await fixture.task(redirected).attempt == 0)
            #expect(try await fixture.task(waiting).state == .queued)
            for path in ["/elsewhere", "/waiting"] {
                #expect(origin.log.now.requests(at: path).isEmpty)
            }
            // Its heartbeat is accepted again, and it continues.
            worker.trust(until: .now + .seconds(3600))
            engine.wake()
            try await fixture.expectCompletion([redirected, waiting])
        }
        try await fixture.expectNoParts()
    }
}
