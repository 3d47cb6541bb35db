import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// A session's or task's settings for time, speed and TLS, as far as the request carries them.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineRequestTests {
    private static let body = OriginBody.random(seed: 61, size: 400_000)

    @Test func anAnswerThatDoesNotBeginIsNotWaitedFor() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let silent = OriginScript([.wait(gate), .head(200, [("Content-Length", "0")])])
        let task = try await fixture.download(silent) {
            $0.options.timeoutForFirstByte = .milliseconds(200)
        }
        #expect(task.failure?.code == .timedOut)
        #expect(task.failure?.message.contains("begin its answer") == true)
    }

    @Test func aBodyThatIsTooSlowIsAskedForAgain() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let stalled = OriginScript.gated(Self.body, after: 100, gate)
        fixture.origin.when("/file") { request in
            request.numberAtPath == 1 ? stalled : .response(body: Self.body)
        }
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.bytesPerSecondMin = 1000
            $0.options.timeoutForLowSpeed = .milliseconds(200)
            // The answers that do come may be late as well.
            $0.options.attemptsMax = 100
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
        let first = try #require(try await fixture.attempts(id).first)
        #expect(first.failure?.code == .timedOut)
        #expect(first.failure?.message.contains("bytes_per_second_min") == true)
    }

    @Test func aRequestSaysWhoAsksAndWantsTheFileAsItIs() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let silent = try await fixture.submit(fixture.origin.url("/file"))
        let named = try await fixture.submit(fixture.origin.url("/file")) {
            $0.headers = [
                HTTPHeader(name: "User-Agent", value: "their own"),
                HTTPHeader(name: "Accept-Encoding", value: "gzip"),
            ]
        }
        let data = try await fixture.submit(fixture.origin.url("/file")) {
            $0.request = TransferRequest(upload: .data([1]))
        }
        try await fixture.withEngine({ $0.userAgent = "transferd/test" }) { _ in
            try await fixture.expectCompletion([silent, named, data])
        }
        func values(_ name: String) -> [[String]] {
            fixture.origin.log.now.requests.map { request in
                request.headers.filter { $0.name.lowercased() == name }.map(\.value)
            }
        }
        let agents = values("user-agent")
        let codings = values("accept-encoding")
        #expect(codings.filter { $0 == ["identity"] }.count == 2)
        #expect(codings.filter { $0 == ["gzip"] }.count == 1)
        #expect(agents.count == 3)
        #expect(agents.filter { $0 == ["transferd/test"] }.count == 2)
        #expect(agents.filter { $0 == ["their own"] }.count == 1)
    }

    /// A slow machine only makes the transfer slower.
    @Test(arguments: [true, false])
    func bytesComeAndGoNoFasterThanTheTaskAllows(isUpload: Bool) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let started = ContinuousClock.now
        let task = try await fixture.download(.response(body: isUpload ? .empty : Self.body)) {
            $0.options.bytesPerSecondMax = 400_000
            if isUpload { $0.request = TransferRequest(upload: .file(path: "out/file")) }
        }
        #expect(task.state == .completed)
        // The bytes on their way when the rate is first measured are additional.
        #expect(ContinuousClock.now - started >= .milliseconds(500))
    }

    @Test func aPrivateAuthorityIsTrustedOnlyWhereItIsNamed() async throws {
        let fixture = try await EngineFixture()
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority)
        func download(
            _ change: (inout TaskSubmission) -> Void
        ) async throws -> TransferTask {
            let id = try await fixture.submit(server.url(), change)
            return try await fixture.withEngine {
                $0.retryPolicy.attemptsMax = 1
            } _: { _ in
                try await fixture.ended(id)
            }
        }
        let trusted = try await download {
            $0.options.certificateAuthorities = CertificateAuthorities(
                stored: authority.certificate
            )
        }
        #expect(trusted.state == .completed)
        #expect(try fixture.content(trusted) == Array("ok".utf8))
        let unknown = try await download { _ in }
        #expect(unknown.failure?.code == .tlsFailure)
        #expect(unknown.failure?.isRetryable == false)
        #expect(unknown.failure?.message.contains("trusted authority") == true)
        let other = CertificateAuthorities(stored: try await TestAuthority().certificate)
        let foreign = try await download { $0.options.certificateAuthorities = other }
        #expect(foreign.failure?.code == .tlsFailure)
        // The authorities that the tenant trusts are additional in either case.
        func expect(_ isTrusted: Bool, authorities: CertificateAuthorities?) async throws {
            let task = try await download { $0.options.certificateAuthorities = authorities }
            #expect(task.state == (isTrusted ? .completed : .failed))
        }
        try await fixture.stores.tenants.setCertificateAuthorities(
            CertificateAuthorities(stored: authority.certificate),
            tenant: fixture.tenant
        )
        try await expect(true, authorities: nil)
        try await expect(true, authorities: other)
        try await fixture.stores.tenants.setCertificateAuthorities(nil, tenant: fixture.tenant)
        try await expect(false, authorities: other)
    }

    @Test func anOldVersionOfTLSIsRefusedWhereItIsNotWanted() async throws {
        let fixture = try await EngineFixture()
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority, options: ["-tls1_2"])
        for (requiresTLS13, code) in [(true, TransferFailure.Code.tlsFailure), (false, nil)] {
            let id = try await fixture.submit(server.url()) {
                $0.options.certificateAuthorities = CertificateAuthorities(
                    stored: authority.certificate
                )
                $0.options.requiresTLS13 = requiresTLS13
            }
            let task = try await fixture.withEngine {
                $0.retryPolicy.attemptsMax = 1
            } _: { _ in
                try await fixture.ended(id)
            }
            #expect(task.failure?.code == code)
        }
    }
}
