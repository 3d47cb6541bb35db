import Curl
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct TLSSettingsTests {
    private let authority: TestAuthority
    private let loop: CurlLoop

    init() async throws {
        authority = try await TestAuthority()
        loop = try CurlLoop(name: "curl-test")
    }

    @Test func authoritiesOfRequestReplaceThoseOfLoop() async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        let other = try await TestAuthority()
        let loop = try CurlLoop(name: "curl-test", certificateFile: other.certificatePath)
        var request = CurlRequest(url: server.url(), egress: .everywhere)
        #expect(await outcome(request, on: loop) == .tlsFailure)
        request.tls.certificateAuthorities = authority.certificate
        #expect(await outcome(request, on: loop) == nil)
    }

    /// The further authorities are those of the loop, or those of the request.
    @Test func furtherAuthoritiesAreTrustedBesidesTheOthers() async throws {
        let other = try await TestAuthority()
        /// Returns the outcome of a request to a separate server, which serves one connection at a
        /// time.
        func code(
            _ authority: TestAuthority,
            _ tls: TLSSettings,
            on loop: CurlLoop? = nil
        ) async throws -> CurlError.Code? {
            let server = try await TLSServer(authority.issue(), of: authority)
            var request = CurlRequest(url: server.url(), egress: .everywhere)
            request.tls = tls
            return await outcome(request, on: loop)
        }
        var tls = TLSSettings()
        tls.furtherAuthorities = authority.certificate
        #expect(try await code(authority, tls) == nil)
        #expect(try await code(other, tls) == .tlsFailure)
        let loop = try CurlLoop(name: "curl-test", certificateFile: other.certificatePath)
        #expect(try await code(authority, tls, on: loop) == nil)
        #expect(try await code(other, tls, on: loop) == nil)
        tls.certificateAuthorities = other.certificate
        #expect(try await code(authority, tls) == nil)
        #expect(try await code(other, tls) == nil)
    }

    @Test func bytesWithoutCertificateTrustNobody() async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        var request = request(server)
        request.tls.certificateAuthorities = Array("no certificate".utf8)
        #expect(await outcome(request) == .authoritiesUnusable)
    }

    /// Of this service; the second request has further ones.
    @Test func aFileOfAuthoritiesThatIsNotThereIsNoFaultOfTheServer() async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        let missing = "\(authority.certificatePath).missing"
        let loop = try CurlLoop(name: "curl-test", certificateFile: missing)
        var request = CurlRequest(url: server.url(), egress: .everywhere)
        #expect(await outcome(request, on: loop) == .authoritiesUnusable)
        request.tls.furtherAuthorities = authority.certificate
        #expect(await outcome(request, on: loop) == .authoritiesUnusable)
    }

    @Test func showsClientCertificateToServerThatAsks() async throws {
        let server = try await TLSServer(
            authority.issue(),
            of: authority,
            options: ["-Verify", "1", "-verify_return_error", "-CAfile", authority.certificatePath]
        )
        var request = request(server)
        #expect(await outcome(request) != nil)
        let client = try await authority.issue(names: "DNS:client")
        request.tls.clientCertificate = .init(certificate: client.certificate, key: client.key)
        #expect(await outcome(request) == nil)
    }

    @Test func keyOfAnotherCertificateIsRefused() async throws {
        let server = try await TLSServer(authority.issue(), of: authority)
        var request = request(server)
        request.tls.clientCertificate = .init(
            certificate: try await authority.issue().certificate,
            key: try await authority.issue().key
        )
        #expect(await outcome(request) == .clientCertificateUnusable)
    }

    @Test func refusesVersionOlderThanAskedFor() async throws {
        for (minimum, code) in [
            (TLSSettings.Version.v1_2, CurlError.Code?.none), (.v1_3, .tlsDisagreement),
        ] {
            let server = try await TLSServer(authority.issue(), of: authority, options: ["-tls1_2"])
            var request = request(server)
            request.tls.minimumVersion = minimum
            #expect(await outcome(request) == code)
        }
    }

    @Test func hidesKeyInEveryDescription() {
        var request = CurlRequest(url: "https://example.com/", egress: .everywhere)
        let bytes = Array("secret".utf8)
        request.tls.clientCertificate = .init(certificate: [1, 2, 3], key: bytes)
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", String(reflecting: request), dumped] {
            #expect(text.contains("3 bytes"))
            // As numbers, the form in which bytes are described.
            #expect(!text.contains("\(bytes[0])") && !text.contains("\(bytes[3])"))
        }
    }

    /// A way in which settings can differ from those of a kept connection.
    enum Difference: CaseIterable {
        case authorities, furtherAuthorities, noClientCertificate, clientCertificate, clientKey,
            minimumVersion
    }

    /// The server is busy with the kept connection, and so answers no other.
    ///
    /// A request that used that connection all the same would wait for an answer, and exceed
    /// another time limit.
    @Test(arguments: Difference.allCases)
    func keptConnectionServesOnlySameSettings(difference: Difference) async throws {
        let server = try await TLSServer(authority.issue(), of: authority, .manual)
        let (client, other) = (try await authority.issue(), try await authority.issue())
        var request = request(server)
        request.tls.clientCertificate = .init(certificate: client.certificate, key: client.key)
        #expect(try await answer(request, by: server, count: 1).isConnectionReused == false)
        #expect(try await answer(request, by: server, count: 2).isConnectionReused == true)
        request.firstByteTimeout = .milliseconds(200)
        switch difference {
        case .authorities:
            request.tls.certificateAuthorities = authority.certificate + other.certificate
        case .furtherAuthorities:
            request.tls.furtherAuthorities = other.certificate
        case .noClientCertificate:
            request.tls.clientCertificate = nil
        case .clientCertificate:
            request.tls.clientCertificate = .init(certificate: other.certificate, key: other.key)
        case .clientKey:
            request.tls.clientCertificate = .init(certificate: client.certificate, key: other.key)
        case .minimumVersion:
            request.tls.minimumVersion = .v1_3
        }
        guard difference != .clientKey else {
            // The fault is found before anything is sent, so there is no server to wait for.
            #expect(await outcome(request) == .clientCertificateUnusable)
            return
        }
        request.connectTimeout = .milliseconds(200)
        #expect(await outcome(request) == .timedOut(.connect))
    }

    private func answer(
        _ request: CurlRequest,
        by server: TLSServer,
        count: Int
    ) async throws -> CurlSummary {
        let sink = RecordingSink()
        loop.start(request, sink: sink)
        await server.receivedHeads(count)
        server.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        return try #require(await sink.result).get()
    }

    private func request(_ server: TLSServer) -> CurlRequest {
        var request = CurlRequest(url: server.url(), egress: .everywhere)
        request.tls.certificateAuthorities = authority.certificate
        return request
    }

    private func outcome(
        _ request: CurlRequest,
        on loop: CurlLoop? = nil
    ) async -> CurlError.Code? {
        let sink = RecordingSink()
        (loop ?? self.loop).start(request, sink: sink)
        return await sink.result?.code
    }
}
