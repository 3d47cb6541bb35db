import Curl
import FaultProxy
import Testing
import TransferTestSupport

/// Fault T12: faults of a certificate are permanent, faults of the line are not.
@Suite(.timeLimit(.minutes(5)))
struct TLSFaultTests {
    private let authority: TestAuthority
    private let loop: CurlLoop

    init() async throws {
        authority = try await TestAuthority()
        loop = try CurlLoop(name: "curl-test")
    }

    @Test func takesResponseOfTrustedServer() async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        let response = try await loop.fetch(request(server.url()), bodyMax: 10)
        #expect(response.body == Array("ok".utf8))
        #expect(response.summary.timings.tls > .zero)
    }

    @Test func refusesExpiredCertificate() async throws {
        #expect(try await fault(authority.issue(days: -1)) == .expired)
    }

    @Test func refusesCertificateOfAnotherHost() async throws {
        #expect(try await fault(authority.issue(names: "DNS:example.com")) == .otherName)
        #expect(try await fault(authority.issue(names: "IP:192.0.2.1")) == .otherName)
    }

    @Test func refusesSelfSignedCertificate() async throws {
        #expect(try await fault(authority.issue(isSelfSigned: true)) == .selfSigned)
    }

    @Test func refusesUnknownAuthority() async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        var request = request(server.url())
        request.tls.certificateAuthorities = try await TestAuthority().certificate
        #expect(await fault(request) == .unknownAuthority)
        // The system's authorities do not know it either.
        request.tls.certificateAuthorities = nil
        #expect(await fault(request) == .unknownAuthority)
    }

    @Test func refusesServerWithoutModernVersion() async throws {
        let old = ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]
        #expect(try await outcome(authority.issue(), options: old) == .tlsDisagreement)
    }

    /// The server would choose the group, and a large one keeps the loop busy for seconds.
    @Test func refusesServerThatChoosesTheGroupOfTheExchange() async throws {
        let old = ["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"]
        #expect(try await outcome(authority.issue(isRSA: true), options: old) == .tlsDisagreement)
        let curves = ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"]
        let server = try await TLSServer(
            authority.issue(isRSA: true),
            of: authority,
            options: curves
        )
        let response = try await loop.fetch(request(server.url()), bodyMax: 10)
        #expect(response.body == Array("ok".utf8))
    }

    /// It ends its own transfer, and not the process.
    @Test func aKeyWithAPassphraseCannotBeUsed() async throws {
        let own = try await authority.issue()
        let server = try await TLSServer(authority.issue(), of: authority)
        var request = request(server.url())
        request.tls.clientCertificate = .init(
            certificate: own.certificate,
            key: try await authority.lockedKey(of: own)
        )
        #expect(await outcome(request) == .clientCertificateUnusable)
    }

    /// In TLS 1.3, the server refuses when the client has ended its handshake.
    @Test(arguments: ["-tls1_2", "-tls1_3"], ["GET", "POST"])
    func serverThatWantsAnotherCertificateDoesNotAgree(
        version: String,
        method: String
    ) async throws {
        let server = try await TLSServer(
            authority.issue(),
            of: authority,
            options: [
                version, "-Verify", "1", "-verify_return_error", "-CAfile",
                authority.certificatePath,
            ]
        )
        var request = CurlRequest(
            url: server.url(),
            method: method,
            body: method == "POST" ? [1] : nil,
            egress: .everywhere
        )
        request.tls.certificateAuthorities = authority.certificate
        #expect(await outcome(request) == .tlsDisagreement)
        let own = try await authority.issue(isSelfSigned: true)
        request.tls.clientCertificate = .init(certificate: own.certificate, key: own.key)
        #expect(await outcome(request) == .tlsDisagreement)
    }

    /// Nothing of the server's part arrives, or only its first bytes.
    @Test(arguments: [0, 200])
    func givesUpHandshakeThatStalls(bytes: Int) async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        let proxy = try FaultProxy(to: server.port, .down(.stall(after: bytes)))
        var request = request("https://127.0.0.1:\(proxy.port)/response")
        request.connectTimeout = .milliseconds(200)
        #expect(await outcome(request) == .timedOut(.connect))
    }

    @Test func handshakeThatIsResetIsWorthAnotherTry() async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        let proxy = try FaultProxy(to: server.port, .down(.reset(after: 200)))
        let code = await outcome(request("https://127.0.0.1:\(proxy.port)/response"))
        #expect(code == .tlsHandshake)
    }

    /// Without the TLS alert that ends a connection, anybody on the way may have cut it.
    @Test(arguments: [
        "Content-Length: 200000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n30d40\r\n",
    ])
    func connectionClosedWithoutAlertIsNoEndOfFramedBody(framing: String) async throws {
        let (code, record) = try await cut(framing)
        #expect(code == .truncated)
        #expect(record.heads.map(\.status) == [200])
        #expect(record.body.count < 200_000)
    }

    /// libcurl makes OpenSSL 3 treat the cut as an end, because many servers end so
    /// (`SSL_OP_IGNORE_UNEXPECTED_EOF` in lib/vtls/openssl.c of 7.88.1): only the summary shows it.
    @Test func connectionClosedWithoutAlertEndsUnframedBodyUnverified() async throws {
        let (code, record) = try await cut("\r\n")
        #expect(code == nil)
        #expect(try record.results.first?.get().isLengthVerified == false)
    }

    private func cut(
        _ framing: String
    ) async throws -> (code: CurlError.Code?, record: RecordingSink.Record) {
        let head = Array("HTTP/1.1 200 OK\r\n\(framing)".utf8)
        let body = [UInt8](repeating: 0x61, count: 200_000) + Array("\r\n0\r\n\r\n".utf8)
        let server = try await TLSServer(authority.issue(), of: authority, .answer(head + body))
        let proxy = try FaultProxy(to: server.port, .down(.close(after: 100_000)))
        let sink = RecordingSink()
        loop.start(request("https://127.0.0.1:\(proxy.port)/response"), sink: sink)
        return (await sink.result?.code, sink.record)
    }

    @Test func bodyClosedWithAlertIsWhole() async throws {
        let response = Array("HTTP/1.1 200 OK\r\n\r\nwhole".utf8)
        let server = try await TLSServer(authority.issue(), of: authority, .answer(response))
        let fetched = try await loop.fetch(request(server.url()), bodyMax: 10)
        #expect(fetched.body == Array("whole".utf8))
        #expect(!fetched.summary.isLengthVerified)
    }

    private func request(_ url: String) -> CurlRequest {
        var request = CurlRequest(url: url, egress: .everywhere)
        request.tls.certificateAuthorities = authority.certificate
        return request
    }

    private func outcome(_ request: CurlRequest) async -> CurlError.Code? {
        let sink = RecordingSink()
        loop.start(request, sink: sink)
        return await sink.result?.code
    }

    /// Returns why a certificate was not accepted.
    private func fault(_ request: CurlRequest) async -> CertificateFault? {
        let sink = RecordingSink()
        loop.start(request, sink: sink)
        let result = await sink.result
        #expect(result?.code == .tlsFailure)
        return result?.summary.certificateFault
    }

    private func fault(
        _ certificate: TestAuthority.Certificate
    ) async throws -> CertificateFault? {
        let server = try await TLSServer(certificate, of: authority)
        return await fault(request(server.url()))
    }

    /// Returns the failure of a request to a server with the certificate.
    private func outcome(
        _ certificate: TestAuthority.Certificate,
        options: [String] = []
    ) async throws -> CurlError.Code? {
        let server = try await TLSServer(certificate, of: authority, options: options)
        return await outcome(request(server.url()))
    }
}
