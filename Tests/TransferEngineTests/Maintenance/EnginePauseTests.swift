import Curl
import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Pauses while tasks run.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct EnginePauseTests {
    private static let body = OriginBody.random(seed: 3, size: 400_000)

    private func pause(_ fixture: EngineFixture, givesBack: Bool) -> Pause {
        Pause(
            scope: Pause.Scope(tenant: fixture.tenant, host: nil),
            hostName: nil,
            isByTenant: false,
            givesBack: givesBack,
            pausedAt: Date()
        )
    }

    @Test func whatRunsGoesOnAndNothingElseBegins() async throws {
        let fixture = try await EngineFixture()
        let store = PauseStore(fixture.stores.database)
        let gate = OriginGate()
        fixture.origin.when("/held", .gated(Self.body, after: 100_000, gate))
        fixture.origin.when("/file", .response(body: Self.body))
        let running = try await fixture.submit(fixture.origin.url("/held"))
        let waiting = try await fixture.withEngine { engine in
            try await fixture.received(100_000, of: running)
            #expect(try await store.pause(pause(fixture, givesBack: false)))
            engine.wake()
            let waiting = try await fixture.submit(fixture.origin.url("/file"))
            engine.wake()
            gate.open()
            try await fixture.expectCompletion([running])
            #expect(try await fixture.task(waiting).state == .queued)
            return waiting
        }
        // Another instance keeps to it, and begins what waits once it is over.
        try await fixture.withEngine { engine in
            engine.wake()
            #expect(try await fixture.task(waiting).state == .queued)
            let scope = Pause.Scope(tenant: fixture.tenant, host: nil)
            #expect(try await store.endPause(scope, isByTenant: false))
            engine.wake()
            try await fixture.expectCompletion([waiting])
        }
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }

    @Test func whatRunsIsGivenBackAndContinued() async throws {
        let fixture = try await EngineFixture()
        let store = PauseStore(fixture.stores.database)
        let gate = OriginGate()
        fixture.origin.when(
            "/file",
            .gated(Self.body, after: 300_000, gate, headers: [("ETag", "\"1\"")])
        )
        // It must not be sent twice, so it goes on.
        fixture.origin.when(
            "/once",
            OriginScript([.wait(gate), .head(200, [("Content-Length", "0")])])
        )
        let download = try await fixture.submit(fixture.origin.url("/file"))
        let upload = try await fixture.submit(fixture.origin.url("/once")) { submission in
            submission.request = TransferRequest(
                kind: .upload,
                method: "POST",
                upload: .data([1])
            )
        }
        try await fixture.withEngine { engine in
            try await fixture.received(300_000, of: download)
            try await eventually("the upload has arrived") {
                fixture.origin.log.now.requests(at: "/once").count == 1
            }
            #expect(try await store.pause(pause(fixture, givesBack: true)))
            engine.wake()
            try await eventually("the download is in the queue") {
                try await fixture.task(download).state == .queued
            }
            #expect(try await fixture.task(download).attempt == 0)
            #expect(try await fixture.task(upload).state == .running)
            fixture.origin.when("/file") {
                .file(Self.body, etag: "\"1\"", for: $0)
            }
            gate.open()
            try await fixture.expectCompletion([upload])
            let scope = Pause.Scope(tenant: fixture.tenant, host: nil)
            #expect(try await store.endPause(scope, isByTenant: false))
            engine.wake()
            try await fixture.expectCompletion([download])
        }
        #expect(try fixture.content(try await fixture.task(download)) == Self.body.bytes)
    }

    /// Submits a copy from another origin than the fixture's, whose host is to be paused.
    private func copy(_ fixture: EngineFixture, from source: String) async throws -> TaskID {
        fixture.origin.when("/in") { _ in .response(201) }
        return try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(upload: .copy(.remote(url: source, headers: [])))
        }
    }

    private func pause(at url: String, givesBack: Bool) throws -> Pause {
        let parsed = try CurlURL(url)
        let host = HostKey(host: parsed.host, port: Int(parsed.port))
        return Pause(
            scope: Pause.Scope(tenant: nil, host: host),
            hostName: parsed.host,
            isByTenant: false,
            givesBack: givesBack,
            pausedAt: Date()
        )
    }

    private func waits(_ fixture: EngineFixture, _ id: TaskID) async throws -> Bool {
        let task = try await fixture.task(id)
        return task.state == .waitingForRetry && task.attempt == 0
            && task.failure?.code == .sourceUnavailable
    }

    @Test func noCopyAsksAPausedSource() async throws {
        let fixture = try await EngineFixture()
        let store = PauseStore(fixture.stores.database)
        let elsewhere = try LoopbackOrigin()
        defer { elsewhere.stop() }
        elsewhere.when("/file", .response(body: Self.body))
        let pause = try pause(at: elsewhere.url("/file"), givesBack: false)
        #expect(try await store.pause(pause))
        let id = try await copy(fixture, from: elsewhere.url("/file"))
        try await fixture.withEngine { engine in
            try await eventually("the copy waits") { try await waits(fixture, id) }
            #expect(elsewhere.log.now.requests.isEmpty)
            #expect(fixture.origin.log.now.requests.isEmpty)
            #expect(try await store.endPause(pause.scope, isByTenant: false))
            engine.wake()
            try await fixture.expectCompletion([id])
        }
        #expect(try await fixture.task(id).attempt == 1)
        #expect(elsewhere.log.now.requests.count == 1)
        #expect(fixture.origin.log.now.requests(at: "/in").count == 1)
    }

    @Test func aCopyIsGivenBackWhenItsSourceIsPaused() async throws {
        let fixture = try await EngineFixture()
        let store = PauseStore(fixture.stores.database)
        let elsewhere = try LoopbackOrigin()
        defer { elsewhere.stop() }
        let gate = OriginGate()
        elsewhere.when("/file", .gated(Self.body, after: 100_000, gate))
        let pause = try pause(at: elsewhere.url("/file"), givesBack: true)
        let id = try await copy(fixture, from: elsewhere.url("/file"))
        try await fixture.withEngine { engine in
            try await eventually("the source sends") {
                elsewhere.log.now.bytesSent["/file", default: 0] >= 100_000
            }
            #expect(try await store.pause(pause))
            engine.wake()
            try await eventually("the copy waits") { try await waits(fixture, id) }
            gate.open()
            #expect(try await store.endPause(pause.scope, isByTenant: false))
            engine.wake()
            try await fixture.expectCompletion([id])
        }
        #expect(try await fixture.task(id).attempt == 1)
        let sent = try #require(fixture.origin.log.now.requests(at: "/in").last)
        #expect(OriginBody.sha256(of: sent.body) == Self.body.sha256)
    }
}
