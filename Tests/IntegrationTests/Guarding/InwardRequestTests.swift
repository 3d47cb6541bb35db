import Foundation
import Testing
import TransferTestSupport
import TransferWire

/// Requests that are to turn the service against what is behind it.
@Suite(.timeLimit(.minutes(10))) struct InwardRequestTests {
    private struct Receipt: Decodable { let id: String }
    private struct Page: Decodable {
        let items: [Item]
        let nextCursor: String?

        private enum CodingKeys: String, CodingKey {
            case items
            case nextCursor = "next_cursor"
        }
    }
    private struct Item: Decodable {
        let state: String
        let url: String
        let error: Failure?
    }
    private struct Failure: Decodable { let code: String }

    /// Submits a download of each host that the service takes at all, and returns the ended tasks.
    private static func ended(
        _ hosts: [String],
        port: UInt16,
        _ client: APIClient
    ) async throws -> [Item] {
        let made = try await client.send("PUT", "/v1/sessions/inward", "{}")
        try #require(made.status == 201, "\(String(decoding: made.body, as: UTF8.self))")
        var taken = 0
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for (index, host) in hosts.enumerated() {
                if index >= 16 { taken += try await group.next() == true ? 1 : 0 }
                group.addTask {
                    let body = """
                        {"url": "http://\(host):\(port)/", "retry": {"attempts_max": 1}}
                        """
                    let answer = try await client.send(
                        "POST",
                        "/v1/sessions/inward/tasks",
                        body
                    )
                    #expect([201, 202, 400, 422].contains(answer.status), "\(host)")
                    return answer.status < 300
                }
            }
            for try await isTaken in group where isTaken { taken += 1 }
        }
        let count = taken
        try await eventually("all tasks have ended", within: .seconds(240)) {
            let tenant = try await client.get("/v1/tenant", as: TenantDocument.self)
            return tenant.outstanding == 0 && tenant.taskCounts.values.reduce(0, +) == count
        }
        var items: [Item] = []
        var cursor: String?
        repeat {
            let query = cursor.map { "&cursor=\($0)" } ?? ""
            let page: Page = try await client.get(
                "/v1/sessions/inward/tasks?limit=200\(query)"
            )
            items += page.items
            cursor = page.nextCursor
        } while cursor != nil
        return items
    }

    @Test func noSpellingOfAnAddressInsideIsReached() async throws {
        let origin = try LoopbackOrigin()
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, allowed: [])
        let client = try APIClient(service, key: directory.apiKey())
        let hosts = InwardAddress.all.flatMap(\.hosts)
        #expect(hosts.count > 3000)
        let items = try await Self.ended(hosts, port: origin.port, client)
        // Most spellings are URLs; a service that refused them all would test nothing.
        #expect(items.count > 2000)
        #expect(items.allSatisfy { $0.state == "failed" })
        let denied = items.count { $0.error?.code == "egress_denied" }
        #expect(denied > 2000)
        // What is left are names that nobody has.
        let others = Set(items.compactMap(\.error?.code)).subtracting(["egress_denied"])
        #expect(others.isSubset(of: ["could_not_resolve_host"]), "\(others)")
        #expect(origin.log.now.connectionsAccepted == 0)
        #expect(await service.terminate() == 0)
    }

    /// With everything allowed, the service still is no way to itself.
    @Test func theServiceItselfIsNotReachedWhateverIsAllowed() async throws {
        let origin = try LoopbackOrigin()
        origin.when("/", .response(200, body: .text("here")))
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, allowed: ["0.0.0.0/0", "::/0"])
        let client = try APIClient(service, key: directory.apiKey())
        let port = UInt16(service.announcement.port)
        let hosts = [
            "127.0.0.1", "127.9.9.9", "localhost", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]",
            "[::1]", "[::]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]",
        ]
        let items = try await Self.ended(hosts, port: port, client)
        #expect(items.count == hosts.count)
        for item in items { #expect(item.error?.code == "egress_denied", "\(item)") }
        // Another port of the same machine is what was allowed.
        let allowed = try await client.submit([origin.url("/")], to: "inward")
        try await eventually("the origin is reached") {
            try await client.get("/v1/tasks/\(allowed[0])", as: Item.self).state == "completed"
        }
        #expect(await service.terminate() == 0)
    }

    @Test func aDeniedNetworkHostOrPortIsNotReachedWhateverIsAllowed() async throws {
        let origin = try LoopbackOrigin()
        for options in [
            ["--deny-network", "127.0.0.0/8"], ["--deny-host", "localhost"],
            ["--allow-host", "example.com"],
            ["--egress-port", "443"],
        ] {
            let directory = try DataDirectory()
            let service = try await ServiceProcess(in: directory, options)
            let client = try APIClient(service, key: directory.apiKey())
            let items = try await Self.ended(["localhost"], port: origin.port, client)
            #expect(items.map(\.error?.code) == ["egress_denied"], "\(options)")
            #expect(await service.terminate() == 0)
        }
        #expect(origin.log.now.connectionsAccepted == 0)
    }
}
