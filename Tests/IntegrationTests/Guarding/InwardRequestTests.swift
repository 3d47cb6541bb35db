import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Requests that are to turn the service against what is behind it.
@Suite(.timeLimit(.minutes(10))) struct InwardRequestTests {
    /// Submits a download of each host that the service takes at all, and returns the ended tasks.
    private static func ended(
        _ hosts: [String],
        port: UInt16,
        _ client: TransferService
    ) async throws -> [TaskDocument] {
        try await client.makeSession("inward")
        var taken = 0
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for (index, host) in hosts.enumerated() {
                if index >= 16 { taken += try await group.next() == true ? 1 : 0 }
                group.addTask {
                    let task = TaskRequest(
                        target: .url("http://\(host):\(port)/"),
                        options: OptionMembers(["retry": .object(["attempts_max": .integer(1)])])
                    )
                    do {
                        try await client.submit([task], toSession: "inward")
                        return true
                    } catch let error as TransferError {
                        #expect([400, 422].contains(error.status), "\(host)")
                        return false
                    }
                }
            }
            for try await isTaken in group where isTaken { taken += 1 }
        }
        let count = taken
        try await eventually("all tasks have ended", within: .seconds(240)) {
            let tenant = try await client.tenant()
            return tenant.outstanding == 0 && tenant.taskCounts.values.reduce(0, +) == count
        }
        var items: [TaskDocument] = []
        var cursor: String?
        repeat {
            let page = try await client.tasks(ofSession: "inward", after: cursor)
            items += page.items
            cursor = page.nextCursor
        } while cursor != nil
        return items
    }

    @Test func noSpellingOfAnAddressInsideIsReached() async throws {
        let origin = try LoopbackOrigin()
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, allowed: [])
        let client = try service.client(key: directory.apiKey())
        let hosts = InwardAddress.all.flatMap(\.hosts)
        #expect(hosts.count > 3000)
        let items = try await Self.ended(hosts, port: origin.port, client)
        // Most spellings are URLs; a service that refused them all would test nothing.
        #expect(items.count > 2000)
        #expect(items.allSatisfy { $0.state == "failed" })
        let denied = items.count { $0.error?.code == "egress_denied" }
        #expect(denied > 2000)
        // What is left are names that nobody has, because of the dot at their end. A name server
        // may say so, or be silent until there is no more time.
        for item in items where item.error?.code != "egress_denied" {
            #expect(
                ["could_not_resolve_host", "timed_out"].contains(item.error?.code)
                    && item.url.hasSuffix(".:\(origin.port)/"),
                "\(item)"
            )
        }
        #expect(origin.log.now.connectionsAccepted == 0)
        #expect(await service.terminate() == 0)
    }

    /// With everything allowed, the service still is no way to itself.
    @Test func theServiceItselfIsNotReachedWhateverIsAllowed() async throws {
        let origin = try LoopbackOrigin()
        origin.when("/", .response(200, body: .text("here")))
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, allowed: ["0.0.0.0/0", "::/0"])
        let client = try service.client(key: directory.apiKey())
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
            try await client.task(allowed[0]).state == "completed"
        }
        #expect(await service.terminate() == 0)
    }

    @Test func aDeniedNetworkHostOrPortIsNotReachedWhateverIsAllowed() async throws {
        let origin = try LoopbackOrigin()
        for (host, options) in [
            ("localhost", ["--deny-network", "127.0.0.0/8"]),
            ("localhost", ["--deny-host", "localhost"]),
            ("[::1]", ["--deny-host", "0::1", "--allow-network", "::1/128"]),
            ("[::ffff:127.0.0.1]", ["--deny-host", "127.0.0.1"]),
            ("localhost", ["--allow-host", "example.com"]),
            ("localhost", ["--egress-port", "443"]),
        ] {
            let directory = try DataDirectory()
            let service = try await ServiceProcess(in: directory, options)
            let client = try service.client(key: directory.apiKey())
            let items = try await Self.ended([host], port: origin.port, client)
            #expect(items.map(\.error?.code) == ["egress_denied"], "\(options)")
            #expect(await service.terminate() == 0)
        }
        #expect(origin.log.now.connectionsAccepted == 0)
    }
}
