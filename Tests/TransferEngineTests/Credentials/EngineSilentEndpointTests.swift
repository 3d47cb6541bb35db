import Curl
import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Token endpoints that keep those waiting who have asked them.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineSilentEndpointTests {
    private static let body = OriginBody.random(seed: 73, size: 5000)

    /// An answer of a token endpoint that comes once the gate is open.
    private static func answer(
        _ text: String,
        status: Int = 200,
        after gate: OriginGate
    ) -> OriginScript {
        let body = OriginBody.text(text)
        let length = ("Content-Length", "\(body.count)")
        return OriginScript([.wait(gate), .head(status, [length]), .body(body)])
    }

    private static func put(
        _ fixture: EngineFixture,
        at url: String,
        origins: [Origin] = []
    ) async throws {
        try await fixture.putRefreshToken("refresh", at: url, origins: origins)
    }

    private static func submit(_ fixture: EngineFixture, _ url: String) async throws -> TaskID {
        try await fixture.submit(url) { $0.options.credential = "oauth" }
    }

    /// Expects that the endpoint has not reached its time limit, at which it would have failed.
    private static func expectSilence(_ fixture: EngineFixture) async throws {
        let credential = try await fixture.stores.credentials.credential(
            tenant: fixture.tenant,
            name: "oauth"
        )
        let failure = try #require(credential).failure
        #expect(failure == nil)
    }

    @Test func theTokenOfAReplacedCredentialIsShownToNobody() async throws {
        let fixture = try await EngineFixture()
        let other = try LoopbackOrigin()
        defer { other.stop() }
        let gate = OriginGate()
        let open = OriginGate()
        open.open()
        fixture.origin.when("/token", Self.answer(#"{"access_token": "old"}"#, after: gate))
        fixture.origin.when("/file", .response(body: Self.body))
        other.when("/token", Self.answer(#"{"access_token": "new"}"#, after: open))
        other.when("/file", .response(body: Self.body))
        let (oldURL, newURL) = (fixture.origin.url("/file"), other.url("/file"))
        try await Self.put(
            fixture,
            at: fixture.origin.url("/token"),
            origins: [Origin(try CurlURL(oldURL))]
        )
        let former = try await Self.submit(fixture, oldURL)
        try await fixture.withEngine { engine in
            await fixture.origin.log.arrived(1, at: "/token")
            try await Self.put(
                fixture,
                at: other.url("/token"),
                origins: [Origin(try CurlURL(newURL))]
            )
            let id = try await Self.submit(fixture, newURL)
            engine.wake()
            try await eventually("the new endpoint has given a token") {
                try await fixture.task(id).state == .completed
            }
            gate.open()
            // The credential is for another origin now.
            try await eventually("the former task asks") {
                try await fixture.task(former).state == .waitingForAuthentication
            }
        }
        #expect(other.log.now.requests(at: "/file").map { $0["Authorization"] } == ["Bearer new"])
        #expect(fixture.origin.log.now.requests(at: "/file").isEmpty)
    }

    @Test func theRefusalOfAReplacedCredentialIsNoFailureOfTheNewOne() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let refusal = #"{"error": "invalid_grant"}"#
        fixture.origin.when("/token", Self.answer(refusal, status: 400, after: gate))
        fixture.origin.when("/new", Self.answer(#"{"access_token": "new"}"#, after: gate))
        fixture.origin.when("/file", .response(body: Self.body))
        try await Self.put(fixture, at: fixture.origin.url("/token"))
        // It would fail at once.
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.credential = "oauth"
            $0.options.asksForCredential = false
        }
        try await fixture.withEngine { engine in
            await fixture.origin.log.arrived(1, at: "/token")
            try await Self.put(fixture, at: fixture.origin.url("/new"))
            gate.open()
            try await eventually("the new credential is shown") {
                engine.wake()
                return try await fixture.task(id).state == .completed
            }
        }
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.map { $0["Authorization"] } == ["Bearer new"])
    }

    @Test func theHostIsLeftToOtherTenants() async throws {
        let fixture = try await EngineFixture()
        let other = try await fixture.anotherTenant()
        let gate = OriginGate()
        fixture.origin.when("/token", Self.answer(#"{"access_token": "a"}"#, after: gate))
        fixture.origin.when("/file", .response(body: Self.body))
        try await Self.put(fixture, at: fixture.origin.url("/token"))
        let url = fixture.origin.url("/file")
        var submitted: [TaskID] = []
        for _ in 0..<4 { submitted.append(try await Self.submit(fixture, url)) }
        let ids = submitted
        try await fixture.withEngine {
            $0.connectionsPerHost = 2
        } _: { engine in
            await fixture.origin.log.arrived(1, at: "/token")
            let quiet = try await fixture.submit(url, of: other)
            engine.wake()
            try await eventually("the other one's file is there") {
                let task = try await fixture.stores.tasks.task(tenant: other, id: quiet)
                return task?.state == .completed
            }
            try await Self.expectSilence(fixture)
            gate.open()
            try await fixture.expectCompletion(ids)
        }
        #expect(fixture.origin.log.now.requests(at: "/token").count == 1)
    }

    @Test func aStoppingEngineGivesBackWhatWaitsForIt() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/token", Self.answer(#"{"access_token": "a"}"#, after: gate))
        try await Self.put(fixture, at: fixture.origin.url("/token"))
        let id = try await Self.submit(fixture, fixture.origin.url("/file"))
        async let stopped: Void = fixture.withEngine { _ in
            await fixture.origin.log.arrived(1, at: "/token")
        }
        await fixture.origin.log.arrived(1, at: "/token")
        try await eventually("the task is queued again") {
            try await fixture.task(id).state == .queued
        }
        try await Self.expectSilence(fixture)
        gate.open()
        try await stopped
        #expect(try await fixture.task(id).attempt == 0)
    }
}
