import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// HTTP to the letter: a request that this server and a proxy in front could read differently is
/// refused, and nothing behind it is answered.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct FramingTests {
    private static let hidden = "GET /livez HTTP/1.1\r\nHost: hidden\r\n\r\n"

    private static func post(
        _ fields: String,
        _ body: String = "",
        version: String = "1.1"
    ) -> String {
        "POST /livez HTTP/\(version)\r\n\(fields)\r\n\r\n\(body)"
    }

    @Test(arguments: [
        "GET /livez HTTP/1.1\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost:\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: me@a\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\tb\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n",
        "GET /livez HTTP/0.9\r\nHost: a\r\n\r\n",
        "GET /livez HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET /livez HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET /livez HTTP/3.7\r\nHost: a\r\n\r\n",
        "GET /livez\r\nHost: a\r\n\r\n",
        "NONSENSE\r\n\r\n",
        post("Host: a\r\nTransfer-Encoding:", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: ", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: gzip, chunked", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: chunked, chunked", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: xchunked", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: \u{b}chunked", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding : chunked", "0\r\n\r\n"),
        post("Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"),
        post("Host: a\r\nTransfer-Encoding: chunked", "0\r\n\r\n", version: "1.0"),
        post("Host: a\r\nContent-Length: 0\r\nContent-Length: 5"),
        post("Host: a\r\nContent-Length: 0, 5"),
        post("Host: a\r\nContent-Length: +5"),
        post("Host: a\r\nContent-Length: -1"),
        post("Host: a\r\nContent-Length: 0x5"),
        post("Host: a\r\nContent-Length: 99999999999999999999999"),
        "GET /livez HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 40_000))\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX: a\(String(repeating: "\u{300}", count: 31))\r\n\r\n",
        "GET /livez?a\(String(repeating: "\u{300}", count: 31)) HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func isRefusedWithAProblemAndNothingBehindItIsAnswered(request: String) async throws {
        try await APIServer.run { server in
            let client = try StreamClient(
                port: server.client.port,
                request: Array((request + Self.hidden).utf8)
            )
            try await eventually("the connection is closed") { client.isEnded }
            let head = client.head.lowercased()
            #expect(head.hasPrefix("http/1.1 400 "))
            #expect(head.contains("content-type: application/problem+json"))
            #expect(head.contains("connection: close"))
            let body = Data(client.all.components(separatedBy: "\r\n\r\n").last?.utf8 ?? "".utf8)
            let problem = try JSONDecoder().decode(ProblemDetails.self, from: body)
            #expect(problem.code == .malformedRequest)
            #expect(head.contains("x-request-id: \(problem.requestID)"))
            #expect(client.all.matches(of: #/HTTP/1\.1 \d{3} /#).count == 1)
        }
    }

    @Test(arguments: [
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /livez HTTP/1.1\r\nhOST: [::1]:8080\r\n\r\n",
        "GET /livez HTTP/1.0\r\nHost: a\r\n\r\n",
        "GET /livez HTTP/1.0\r\n\r\n",
    ])
    func whatIsHTTPIsAnswered(request: String) async throws {
        try await APIServer.run { server in
            let client = try StreamClient(port: server.client.port, request: Array(request.utf8))
            try await eventually("it is answered") { client.head.contains("HTTP/1.") }
            #expect(client.head.contains(" 200 "))
        }
    }

    private static let upgrade =
        "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        + "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"

    /// A client may wish that in any words.
    ///
    /// One that asks for another protocol, as curl does with `--http2`, gets an end instead.
    @Test(arguments: [
        "GET /livez HTTP/1.0\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close, TE\r\nTE: trailers\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nConnection: CLOSE\r\n\r\n",
        upgrade, upgrade + hidden,
    ])
    func aConnectionEndsAfterItsLastRequest(requests: String) async throws {
        try await APIServer.run { server in
            let client = try StreamClient(port: server.client.port, request: Array(requests.utf8))
            try await eventually("the connection ends") { client.isEnded }
            #expect(client.head.contains(" 200 "))
            #expect(client.head.lowercased().contains("connection: close"))
            #expect(client.all.matches(of: #/HTTP/1\.1 \d{3} /#).count == 1)
        }
    }

    @Test func aConnectEndsItsConnection() async throws {
        try await APIServer.run { server in
            let key = server.first.key.serialized
            let request =
                "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nAuthorization: Bearer \(key)\r\n\r\n"
            let client = try StreamClient(port: server.client.port, request: Array(request.utf8))
            try await eventually("the connection ends") { client.isEnded }
            #expect(client.head.lowercased().contains("connection: close"))
        }
    }

    /// The parser reads nothing behind such a request, and would keep all of it.
    @Test func whatFollowsAnUpgradeIsNotKept() async throws {
        var bounds = ConnectionBounds()
        // Else a head that does not come would end the connection.
        bounds.headTimeout = .seconds(600)
        try await APIServer.run(connections: bounds) { server in
            let client = try StreamClient(
                port: server.client.port,
                request: Array(Self.upgrade.utf8)
            )
            let flood = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
            // It ends with the connection, too.
            _ = try? await onThread { try client.sendAhead(flood, mebibytesMax: 128) }
            try await eventually("the connection ends") { server.api.connections.count == 0 }
        }
    }

    private static func submission(_ server: APIServer, _ fields: String) -> String {
        """
        POST /v1/sessions/photos/tasks HTTP/1.1\r
        Host: a\r
        Authorization: Bearer \(server.first.key.serialized)\r
        Content-Type: application/json\r
        \(fields)\r
        \r

        """
    }

    /// The body of a request in progress breaks: its own answer says so.
    @Test(arguments: [
        "zz\r\n", "5\nhello\r\n0\r\n\r\n", "-1\r\n", "ffffffffffffffffff\r\n",
        "5\r\nhelloX0\r\n\r\n",
    ])
    func aBrokenBodyIsRefusedWithAProblem(body: String) async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let client = try StreamClient(
                port: server.client.port,
                request: Array(
                    (Self.submission(server, "Transfer-Encoding: chunked") + body + Self.hidden)
                        .utf8
                )
            )
            try await eventually("the connection is closed") { client.isEnded }
            #expect(client.head.contains(" 400 "), "\(client.all)")
            #expect(client.all.contains("\"malformed_request\""))
            #expect(!client.all.contains("HTTP/1.1 200"))
        }
    }

    /// The bytes of a request that ends too early are not wrong.
    @Test(arguments: [
        "Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ])
    func aBodyThatBreaksOffIsIncomplete(rest: String) async throws {
        try await APIServer.run { server in
            let id = try await server.submit(try await server.session(), Self.upload)
            for target in ["POST /v1/sessions/photos/tasks", "PUT /v1/tasks/\(id)/body"] {
                let client = try StreamClient(
                    port: server.client.port,
                    request: Self.begun(target, rest, server)
                )
                client.stopSending()
                try await eventually("the connection ends") { client.isEnded }
                #expect(client.head.hasPrefix("HTTP/1.1 400 "), "\(target)")
                #expect(client.all.contains("\"incomplete_body\""), "\(target)")
                #expect(client.all.matches(of: #/HTTP/1\.1 \d{3} /#).count == 1)
                if target.hasPrefix("PUT") {
                    #expect(client.head.lowercased().contains("upload-offset: 5"))
                }
            }
        }
    }

    /// The client would take it for the answer to its next request.
    @Test func anAnsweredRequestThatBreaksOffIsNotAnsweredAgain() async throws {
        try await APIServer.run { server in
            let id = try await server.submit(try await server.session())
            for end in ["", "zz\r\n"] {
                let client = try StreamClient(
                    port: server.client.port,
                    request: Self.begun(
                        "PUT /v1/tasks/\(id)/body",
                        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                        server
                    )
                )
                try await eventually("it is answered") { client.all.contains("body_not_expected") }
                if end.isEmpty { client.stopSending() } else { try client.send(Array(end.utf8)) }
                try await eventually("the connection ends") { client.isEnded }
                #expect(client.head.hasPrefix("HTTP/1.1 409 "))
                #expect(client.all.matches(of: #/HTTP/1\.1 \d{3} /#).count == 1)
            }
        }
    }

    private static let upload =
        #"{"url": "http://o.example/", "kind": "upload", "upload": {"staged": true}}"#

    /// A request of which `rest` is the last that comes.
    private static func begun(_ target: String, _ rest: String, _ server: APIServer) -> [UInt8] {
        let head = """
            \(target) HTTP/1.1\r
            Host: a\r
            Authorization: Bearer \(server.first.key.serialized)\r
            Content-Type: application/\(target.hasPrefix("PUT") ? "octet-stream" : "json")\r

            """
        return Array((head + rest).utf8)
    }

    @Test(arguments: ["", "Expect: 100-continue\r\n"])
    func anAnnouncedBodyThatIsTooLargeIsRefusedAtOnce(expectation: String) async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let client = try StreamClient(
                port: server.client.port,
                request: Array(
                    Self.submission(server, "\(expectation)Content-Length: 16777217").utf8
                )
            )
            try await eventually("it is answered") { client.all.contains("\"request_id\"") }
            #expect(client.head.contains(" 413 "))
            #expect(client.head.lowercased().contains("connection: close"))
        }
    }

    @Test func extensionsOfChunksAreBounded() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let client = try StreamClient(
                port: server.client.port,
                request: Array(Self.submission(server, "Transfer-Encoding: chunked").utf8)
            )
            let flood = Array(String(repeating: "a", count: 10_000).utf8)
            try client.send(Array("1;a=".utf8))
            var sent = 0
            // The connection ends while more is sent.
            while !client.isEnded, sent < 4_000_000 {
                do { try client.send(flood) } catch { break }
                sent += flood.count
                await Task.yield()
            }
            try await eventually("it is answered") { client.all.contains("\"malformed_request\"") }
        }
    }

    /// A client may send a byte a chunk, and short extensions.
    @Test func smallChunksAndExtensionsAreRead() async throws {
        try await APIServer.run { server in
            _ = try await server.session()
            let path = String(repeating: "a", count: 4000)
            let body = #"[{"url": "http://origin.example/\#(path)"}]"#
            let chunks = body.utf8.map { byte in
                "1;a=b\r\n\(String(decoding: [byte], as: UTF8.self))\r\n"
            }
            let client = try StreamClient(
                port: server.client.port,
                request: Array(
                    (Self.submission(server, "Transfer-Encoding: chunked") + chunks.joined()
                        + "0\r\n\r\n").utf8
                )
            )
            try await eventually("it is answered") { client.head.contains("HTTP/1.1") }
            #expect(client.head.contains(" 202 "))
        }
    }
}
