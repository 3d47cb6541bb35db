import Testing
import TransferTestSupport

@testable import Curl

@Suite(.timeLimit(.minutes(5)))
struct HTTPVersionTests {
    private static let small = CurlRequest.Traffic.smallFileBytesMax

    @Test(arguments: [
        (CurlRequest.Traffic.message, false, true, CurlRequest.HTTPVersion.http1),
        (.message, true, false, .negotiated), (.message, true, true, .negotiated),
        (.data, true, true, .negotiated), (.data, true, false, .http1),
        (.data, false, true, .http1), (.data, false, false, .http1),
        (.file(size: 0), true, true, .negotiated), (.file(size: small), true, true, .negotiated),
        (.file(size: small + 1), true, true, .http1), (.file(size: nil), true, true, .http1),
        (.file(size: 0), true, false, .http1), (.file(size: nil), true, false, .http1),
        (.file(size: 0), false, true, .http1), (.file(size: nil), false, false, .http1),
    ])
    func isChosenByWhatIsMovedAndWhatTheLibraryCan(
        traffic: CurlRequest.Traffic,
        hasHTTP2: Bool,
        isSound: Bool,
        choice: CurlRequest.HTTPVersion
    ) {
        let chosen = CurlRequest.HTTPVersion.choice(
            for: traffic,
            hasHTTP2: hasHTTP2,
            isSound: isSound
        )
        #expect(chosen == choice)
    }

    @Test(
        .enabled(if: NginxServer.isInstalled && CurlLoop.libraryVersion.hasHTTP2),
        arguments: [CurlRequest.HTTPVersion.negotiated, .http1]
    )
    func aRealServerIsSpokenToAsOffered(version: CurlRequest.HTTPVersion) async throws {
        let authority = try await TestAuthority()
        let body = OriginBody.random(seed: 81, size: 200_000)
        let server = try await NginxServer(authority.issue(), of: authority, body: body)
        let loop = try CurlLoop(name: "curl-test")
        var request = CurlRequest(url: server.url, egress: .everywhere)
        request.tls.certificateAuthorities = authority.certificate
        request.httpVersion = version
        // They run together, so that streams share connections.
        let sinks = (0..<50).map { _ in RecordingSink() }
        for sink in sinks { loop.start(request, sink: sink) }
        for sink in sinks {
            let summary = try #require(await sink.result).get()
            #expect(summary.httpVersion == (version == .negotiated ? "2" : "1.1"))
            #expect(summary.isLengthVerified)
            #expect(sink.record.body == body.bytes)
        }
        loop.stop()
    }

    /// RFC 9113, section 8.7: it was not processed, which shows where its connection is its own.
    @Test(
        .enabled(if: NginxServer.isInstalled && CurlLoop.libraryVersion.hasHTTP2),
        arguments: [("GET", CurlError.Code.connectionLost), ("POST", .requestRefused)]
    )
    func aRequestWhoseStreamIsRefusedWasNotProcessed(
        method: String,
        code: CurlError.Code
    ) async throws {
        let authority = try await TestAuthority()
        let server = try await NginxServer(
            authority.issue(),
            of: authority,
            body: .empty,
            directives: "http2_max_concurrent_streams 0;"
        )
        let loop = try CurlLoop(name: "curl-test")
        defer { loop.stop() }
        var request = CurlRequest(
            url: server.url,
            method: method,
            body: method == "POST" ? [1] : nil,
            egress: .everywhere
        )
        request.tls.certificateAuthorities = authority.certificate
        request.httpVersion = .negotiated
        let sink = RecordingSink()
        loop.start(request, sink: sink)
        let result = try #require(await sink.result)
        #expect(result.code == code)
        #expect(result.isRequestRefused == (code == .requestRefused))
        #expect(sink.record.heads.isEmpty)
    }
}
