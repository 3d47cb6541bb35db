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
}
