import Curl
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Requests that a server refuses before it has processed them.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineRefusalTests {
    /// Runs a data task until it ends.
    private func end(
        _ method: String,
        of url: String,
        trusting authorities: [UInt8]
    ) async throws -> TransferTask {
        let fixture = try await EngineFixture()
        try await fixture.putEphemeral()
        let id = try await fixture.submit(url, to: EngineFixture.ephemeral) {
            $0.request = TransferRequest(
                kind: .data,
                method: method,
                upload: method == "POST" ? .data([1]) : nil
            )
            $0.options.certificateAuthorities = CertificateAuthorities(stored: authorities)
            $0.options.waitsForConnectivity = false
        }
        return try await fixture.withEngine { _ in try await fixture.ended(id) }
    }

    /// In TLS 1.3, it says so only when the request is under way.
    @Test(arguments: ["GET", "POST"])
    func aServerThatWantsACertificateIsNotAskedAgain(method: String) async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(
            authority.issue(),
            of: authority,
            options: [
                "-tls1_3", "-Verify", "1", "-verify_return_error", "-CAfile",
                authority.certificatePath,
            ]
        )
        let task = try await end(method, of: server.url(), trusting: authority.certificate)
        #expect(task.failure?.code == .tlsFailure)
        #expect(task.failure?.isRetryable == false)
        #expect(task.attempt == 1)
    }

    /// RFC 9113, section 8.7: it was not processed, whatever its method.
    ///
    /// Where data tasks are not offered HTTP/2, `HTTPVersionTests` of `Curl` see the refusal.
    @Test(
        .enabled(
            if: NginxServer.isInstalled && CurlLoop.libraryVersion.hasHTTP2
                && CurlLoop.libraryVersion.isHTTP2Sound
        ),
        arguments: ["GET", "POST"]
    )
    func aRequestWhoseStreamIsRefusedIsSentAgain(method: String) async throws {
        let authority = try await TestAuthority()
        let server = try await NginxServer(
            authority.issue(),
            of: authority,
            body: .empty,
            directives: "http2_max_concurrent_streams 0;"
        )
        let task = try await end(method, of: server.url, trusting: authority.certificate)
        #expect(task.failure?.code == .connectionLost)
        #expect(task.attempt == 3)
        #expect(task.bytesSent == 0)
    }

    @Test func aRefusedRequestIsALostConnectionThatMayBeRetried() {
        let failure = TransferFailure(CurlError(.requestRefused))
        #expect(failure.code == .connectionLost)
        #expect(failure.isRetryable)
    }

    @Test func aClientCertificateThatCannotBeUsedSaysNothingAboutTheServer() {
        let failure = TransferFailure(CurlError(.clientCertificateUnusable))
        #expect(failure.code == .credentialUnusable)
        #expect(failure.message.contains("private key"))
        #expect(!failure.isRetryable)
        #expect(!failure.isAboutHost)
    }

    /// Nobody can change them.
    @Test(arguments: ["GET", "POST"])
    func authoritiesOfATaskThatAreNoneAreNotTriedAgain(method: String) async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority)
        // It has the outer form of a certificate, and nothing that one has in it.
        let none = Array(
            "-----BEGIN CERTIFICATE-----\nMAUwAQAFAA==\n-----END CERTIFICATE-----\n".utf8
        )
        let task = try await end(method, of: server.url(), trusting: none)
        #expect(task.failure?.code == .authoritiesUnusable)
        #expect(task.failure?.isRetryable == false)
        #expect(task.attempt == 1)
    }

    /// Those of this service may be readable again.
    @Test func authoritiesThatCannotBeReadSayNothingAboutTheServer() {
        let failure = TransferFailure(CurlError(.authoritiesUnusable))
        #expect(failure.code == .authoritiesUnusable)
        #expect(failure.message.contains("authorities"))
        #expect(failure.isRetryable)
        #expect(!failure.isAboutURL)
        #expect(!failure.isAboutHost)
    }

    @Test func messagesTellFaultsOfCertificatesApart() {
        let faults: [CertificateFault?] = [nil] + CertificateFault.allCases.map { Optional($0) }
        let messages = faults.map { fault in
            var summary = CurlSummary()
            summary.certificateFault = fault
            let failure = TransferFailure(CurlError(.tlsFailure, summary: summary))
            #expect(failure.code == .tlsFailure)
            return failure.message
        }
        #expect(Set(messages).count == faults.count)
    }
}
