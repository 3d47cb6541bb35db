import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema, .timeLimit(.minutes(1))) struct HostTests {
    private func decide(
        _ server: APIServer,
        _ host: String,
        _ after: Int,
        isClosed: Bool = false
    ) async throws {
        try await server.stores.hosts.record([
            HostChange(
                hostKey: try #require(HostKey(hostAndPort: host)),
                name: host,
                decision: RemoteHost.Decision(
                    decidedAt: Date(timeIntervalSince1970: 1_772_366_400),
                    before: 6,
                    after: after,
                    reason: "Halved, because it answered 503."
                ),
                connections: after > 0 ? after : nil,
                isClosed: isClosed,
                tenants: [server.first.id]
            )
        ])
    }

    @Test func aHostTellsWhyItIsGivenLess() async throws {
        try await APIServer.run { server in
            try await decide(server, "files.test:443", 3)
            let host = try await server.send("GET", "/v1/hosts/files.test:443")
                .json(HostDocument.self)
            #expect(host.host == "files.test:443")
            #expect(host.state == "open")
            #expect(host.connections == 3)
            #expect(host.maxConnections == nil)
            let decision = try #require(host.decisions?.first)
            #expect(decision.connectionsBefore == 6)
            #expect(decision.connectionsAfter == 3)
            #expect(decision.reason == "Halved, because it answered 503.")
            #expect(try await server.send("GET", "/v1/hosts/FILES.test:443").status == 200)
            let hostKey = try #require(HostKey(hostAndPort: "files.test:443"))
            #expect(
                try await server.stores.hosts.limitHost(
                    hostKey,
                    name: "files.test:443",
                    maxConnections: 2
                )
            )
            let bound = try await server.send("GET", "/v1/hosts/files.test:443")
                .json(HostDocument.self)
            #expect(bound.maxConnections == 2)
            #expect(bound.connections == 2)
            try await decide(server, "files.test:443", 0, isClosed: true)
            let closed = try await server.send("GET", "/v1/hosts/files.test:443")
                .json(HostDocument.self)
            #expect(closed.state == "closed")
            #expect(closed.connections == nil)
        }
    }

    @Test(arguments: [
        ("files.test:443", "files.test%3A443"), ("[::1]:443", "%5B::1%5D:443"),
        ("[::1]:443", "%5b%3A%3a1%5d%3A443"),
    ])
    func aHostIsFoundHoweverItIsEscaped(name: String, segment: String) async throws {
        try await APIServer.run { server in
            try await decide(server, name, 3)
            let answer = try await server.send("GET", "/v1/hosts/\(segment)")
            #expect(answer.status == 200)
            #expect(try answer.json(HostDocument.self).host == name)
        }
    }

    @Test func hostsAreListedInPages() async throws {
        try await APIServer.run { server in
            for name in ["a.test:1", "b.test:1", "c.test:1"] { try await decide(server, name, 1) }
            let first = try await server.send("GET", "/v1/hosts?limit=2")
                .json(Page<HostDocument>.self)
            #expect(first.items.map(\.host) == ["a.test:1", "b.test:1"])
            #expect(first.items.allSatisfy { $0.decisions == nil })
            let cursor = try #require(first.nextCursor)
            let rest = try await server.send("GET", "/v1/hosts?limit=2&cursor=\(cursor)")
                .json(Page<HostDocument>.self)
            #expect(rest.items.map(\.host) == ["c.test:1"])
            #expect(rest.nextCursor == nil)
            let foreign = try await server.send("GET", "/v1/clients?cursor=\(cursor)")
            #expect(foreign.status == 422)
        }
    }

    @Test(arguments: [
        "files.test", "files.test:443", ":443", "files.test:x", "files.test:99999", "%zz:1",
    ])
    func ofOthersNothingIsKnown(name: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send("GET", "/v1/hosts/\(name)")
            #expect(answer.status == 404)
            #expect(answer.code == .unknownHost)
        }
    }
}
