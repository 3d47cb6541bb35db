import Foundation
import Glibc
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The permitted use of a connection, and its time limits.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ConnectionTests {
    private static func bounds(_ change: (inout ConnectionBounds) -> Void) -> ConnectionBounds {
        var bounds = ConnectionBounds()
        change(&bounds)
        return bounds
    }

    @Test(arguments: ["", "GET /livez HTTP/1.1\r\nHost:"])
    func aHeadComesInTime(front: String) async throws {
        let bounds = Self.bounds { $0.headTimeout = .milliseconds(200) }
        try await APIServer.run(connections: bounds) { server in
            let client = try StreamClient(port: server.client.port, request: Array(front.utf8))
            try await eventually("the connection is closed") { client.isEnded }
            #expect(client.head.isEmpty)
        }
    }

    @Test func aBodyComesAtARate() async throws {
        let bounds = Self.bounds {
            $0.bodyGrace = .milliseconds(200)
            $0.bodyBytesPerSecondMin = 1_000_000
        }
        try await APIServer.run(connections: bounds) { server in
            let session = try await server.session()
            let client = try StreamClient(
                port: server.client.port,
                request: Self.front("POST", "\(session)/tasks", server, bodyBytes: 1000)
            )
            try client.send(Array(" ".utf8))
            try await eventually("the connection is closed") { client.isEnded }
        }
    }

    @Test func anAnswerIsTakenInTime() async throws {
        let bounds = Self.bounds { $0.writeTimeout = .milliseconds(300) }
        try await APIServer.run(connections: bounds) { server in
            let task = try await server.submit(try await server.session())
            try await server.complete([UInt8](repeating: 7, count: 64 << 20))
            let client = try StreamClient(
                port: server.client.port,
                request: Self.front("GET", "/v1/tasks/\(task)/content", server),
                isReading: false
            )
            // With the first byte it is there.
            #expect(try await onThread { client.receive(bytesMax: 1) })
            try await eventually("it is given up") { server.api.connections.count == 0 }
            client.goAway()
        }
    }

    @Test func aConnectionWithoutAGoodKeyEnds() async throws {
        try await APIServer.run { server in
            let request = "GET /v1/tenant HTTP/1.1\r\nHost: a\r\n\r\n"
            let client = try StreamClient(
                port: server.client.port,
                request: Array(String(repeating: request, count: 2).utf8)
            )
            try await eventually("the connection is closed") { client.isEnded }
            #expect(client.head.contains("401") && client.head.contains("close"))
            #expect(client.all.components(separatedBy: "HTTP/1.1 ").count == 2)
        }
    }

    /// Many clients read their answer only when they have sent all of the body.
    @Test(arguments: [401, 413])
    func aRefusedBodyIsTakenToItsEnd(status: Int) async throws {
        // Long enough for the body on any machine.
        let bounds = Self.bounds { $0.closeTimeout = .seconds(20) }
        try await APIServer.run(connections: bounds) { server in
            let key = status == 401 ? "none" : server.first.key.serialized
            let request = HTTPClient.request(
                "POST",
                "/v1/sessions/photos/tasks",
                fields: [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")],
                body: [UInt8](repeating: UInt8(ascii: " "), count: 50_000_000)
            )
            // Fails when the connection ends before all of it is sent.
            let client = try await onThread {
                try StreamClient(port: server.client.port, request: request)
            }
            try await eventually("the answer ends") { client.isEnded }
            let answer = try HTTPClient.parse(Array(client.all.utf8))
            #expect(answer.status == status)
            #expect(answer.fields["content-length"] == "\(answer.body.count)")
        }
    }

    @Test func brokenFramingEndsAConnection() async throws {
        let bounds = Self.bounds { $0.closeTimeout = .milliseconds(200) }
        try await APIServer.run(connections: bounds) { server in
            let client = try StreamClient(
                port: server.client.port,
                request: Array("NONSENSE\r\n\r\n".utf8)
            )
            try await eventually("the connection is closed") { client.isEnded }
            #expect(client.head.contains("400"))
            try await eventually("nothing is left of it") { server.api.connections.count == 0 }
        }
    }

    /// Pipelined requests are answered one by one and in order, also when nothing more can come.
    @Test(arguments: [false, true])
    func requestsSentAheadAreAnsweredInOrder(isEnding: Bool) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            var requests: [UInt8] = []
            for number in 0..<20 {
                let body = #"{"url": "http://origin.example/\#(number)"}"#
                requests += Self.front(
                    "POST",
                    "\(session)/tasks",
                    server,
                    bodyBytes: body.utf8.count
                )
                requests += Array(body.utf8)
                requests += Self.front("GET", "/livez", server)
            }
            requests += Self.front("GET", "/nowhere", server)
            let client = try StreamClient(port: server.client.port, request: requests)
            if isEnding { client.stopSending() }
            try await eventually("all are answered") { client.all.contains("HTTP/1.1 404") }
            let statuses = client.all.components(separatedBy: "HTTP/1.1 ").dropFirst()
                .map { $0.prefix(3) }
            let expected = Array(repeating: ["202", "200"], count: 20).flatMap(\.self) + ["404"]
            #expect(statuses.map(String.init) == expected)
            if isEnding { try await eventually("the connection ends") { client.isEnded } }
        }
    }

    /// What is sent while an answer is under way is left in the sockets, which hold some megabytes.
    @Test func whatIsSentAheadStaysWithTheClient() async throws {
        try await APIServer.run { server in
            let stream = try server.stream("\(try await server.session())/events")
            try await eventually("the answer is under way") { !stream.head.isEmpty }
            let request = Self.front("GET", "/livez", server)
            let requests = Array(repeatElement(request, count: 16 * 1024).joined())
            let mebibytes = try await onThread { try stream.sendAhead(requests, mebibytesMax: 64) }
            #expect(mebibytes < 32)
            #expect(!stream.isEnded)
            stream.goAway()
        }
    }

    @Test func silentConnectionsGoForThoseThatAsk() async throws {
        let bounds = Self.bounds {
            $0.perAddressMax = 16
            $0.reserve = 4
        }
        try await APIServer.run(connections: bounds) { server in
            var silent: [StreamClient] = []
            for _ in 0..<100 {
                silent.append(try StreamClient(port: server.client.port, request: []))
            }
            #expect(try await server.send("GET", "/v1/tenant").status == 200)
            #expect(try await server.sendPlain("GET", "/livez").status == 200)
            try await eventually("the oldest are closed") {
                silent.count { $0.isEnded } >= 100 - bounds.perAddressMax - bounds.reserve
            }
            try await eventually("no more are left than may be") {
                server.api.connections.count <= bounds.perAddressMax + bounds.reserve
            }
        }
    }

    /// Connections with an answer in progress stay open; beyond them health is still answered.
    @Test func healthIsToldWhenAllConnectionsAreBusy() async throws {
        let bounds = Self.bounds {
            $0.perAddressMax = 8
            $0.reserve = 2
        }
        try await APIServer.run(connections: bounds) { server in
            let session = try await server.session()
            var streams: [StreamClient] = []
            for _ in 0..<8 {
                let stream = try server.stream("\(session)/events")
                try await eventually("the stream begins") { !stream.head.isEmpty }
                streams.append(stream)
            }
            for path in ["/livez", "/readyz", "/health"] {
                #expect(try await server.sendPlain("GET", path).status == 200)
            }
            let refused = try await server.send("GET", "/v1/tenant")
            #expect(refused.status == 503)
            let problem = try refused.json(ProblemDetails.self)
            #expect(problem.code == .unavailable && problem.limit == "connections")
            #expect(refused.fields["retry-after"] == "1")
            streams.removeLast().goAway()
            try await eventually("there is room again") {
                try await server.send("GET", "/v1/tenant").status == 200
            }
            #expect(streams.allSatisfy { !$0.isEnded })
        }
    }

    @Test func aTenantLeavesConnectionsToOthers() async throws {
        let bounds = Self.bounds { $0.perTenantMax = 4 }
        try await APIServer.run(connections: bounds) { server in
            let session = try await server.session()
            var streams: [StreamClient] = []
            for _ in 0..<4 {
                let stream = try server.stream("\(session)/events")
                try await eventually("the stream begins") { !stream.head.isEmpty }
                streams.append(stream)
            }
            let refused = try await server.send("GET", "/v1/tenant")
            #expect(refused.status == 429)
            #expect(try refused.json(ProblemDetails.self).limit == "tenant_connections")
            #expect(try await server.send("GET", "/v1/tenant", as: server.second).status == 200)
            for stream in streams { stream.goAway() }
        }
    }

    /// Returns the head of a request on a connection that stays open.
    private static func front(
        _ method: String,
        _ path: String,
        _ server: APIServer,
        bodyBytes: Int? = nil
    ) -> [UInt8] {
        var lines = [
            "\(method) \(path) HTTP/1.1", "Host: a",
            "Authorization: Bearer \(server.first.key.serialized)",
        ]
        if let bodyBytes {
            lines += ["Content-Type: application/json", "Content-Length: \(bodyBytes)"]
        }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}
