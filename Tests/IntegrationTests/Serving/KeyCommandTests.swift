import ChildProcess
import Foundation
import Testing
import TransferTestSupport
import TransferWire

/// Keys as an operator creates, lists and revokes them beside running instances.
@Suite(.timeLimit(.minutes(5))) struct KeyCommandTests {
    /// The time in which a revocation has to hold on all instances, far less than the requests that
    /// it ends would last.
    private static let bound: Duration = .seconds(30)

    @Test func aRevocationEndsWhatUsesTheKeyOnEveryInstance() async throws {
        let directory = try DataDirectory()
        let services = [
            try await ServiceProcess(in: directory), try await ServiceProcess(in: directory),
        ]
        // Its connections end with the answers, so that none of them is counted below.
        let owner = try HTTPClient(services[0], key: directory.apiKey())
        #expect(await owner.status("PUT", "/v1/sessions/s", "{}") == 201)
        let created = try await directory.run("keys", "create", "--name", "old")
        let key = try #require(created.lines.first?.first)
        let id = String(key.split(separator: "_")[1])
        // The two live keys of a rotation.
        let renewed = try await directory.run("keys", "create", "--name", "new")
        let newKey = try #require(renewed.lines.first?.first)
        let clients = services.map { HTTPClient($0, key: key) }
        let waits = [("Accept", "text/event-stream"), ("Prefer", "wait=60")]
        try await withThrowingTaskGroup(
            of: (status: Int, endedAt: ContinuousClock.Instant).self
        ) { group in
            for client in clients {
                #expect(await client.status("GET", "/v1/tenant") == 200)
                for field in waits {
                    group.addTask {
                        let path = "/v1/sessions/s/events"
                        let status = try await client.send("GET", path, fields: [field]).status
                        return (status, .now)
                    }
                }
            }
            let keys = try await directory.run("keys", "list").lines
            let line = try #require(keys.first { $0.first == id })
            #expect(line[1...2] == ["good", "read,submit,control,webhooks"])
            #expect(line[4] != "-" && line[5] == "-" && line[6] == "old")
            for service in services {
                try await eventually("the stream has begun and the other waits") {
                    try await hasBoth(service)
                }
            }
            #expect(try await directory.run("keys", "revoke", id).status == 0)
            let revokedAt = ContinuousClock.now
            var statuses: [Int] = []
            for try await (status, endedAt) in group {
                statuses.append(status)
                #expect(endedAt - revokedAt < Self.bound)
            }
            // The streams had begun; the other requests had not been answered yet.
            #expect(statuses.sorted() == [200, 200, 401, 401])
            for client in clients {
                try await eventually("the key is refused") {
                    await client.status("GET", "/v1/tenant") == 401
                }
            }
            #expect(ContinuousClock.now - revokedAt < Self.bound)
        }
        for service in services {
            let client = HTTPClient(service, key: newKey)
            #expect(await client.status("GET", "/v1/tenant") == 200)
        }
        let keys = try await directory.run("keys", "list").lines
        #expect(keys.first { $0.first == id }?[1] == "revoked")
        for service in services { #expect(await service.terminate() == 0) }
    }

    /// Nobody has it, so nobody would revoke it.
    @Test func aKeyThatCannotBePrintedIsRevoked() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let process = try ChildProcess(
            Program.path,
            ["keys", "create", "--name", "lost"] + directory.options,
            environment: Program.environment,
            output: .overwriting("/dev/full"),
            errors: .discarded
        )
        #expect(await process.status() == 1)
        let keys = try await directory.run("keys", "list").lines
        #expect(keys.first { $0.last == "lost" }?[1] == "revoked")
        #expect(await service.terminate() == 0)
    }

    /// Returns whether an instance has begun to answer with a stream, and has another connection
    /// besides it and that of this question.
    private func hasBoth(_ service: ServiceProcess) async throws -> Bool {
        let stream = #"method="GET",route="/v1/sessions/{identifier}/events",status="200""#
        let text = try await HTTPClient(service, key: "none").send("GET", "/metrics").text
        let name = "transferd_http_connections "
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        let connections = line.flatMap { Double($0.dropFirst(name.count)) } ?? 0
        return connections >= 3 && text.contains("transferd_http_requests_total{\(stream)}")
    }

    @Test func aKeyIsMadeForATenantWithScopesAndAnEnd() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let created = try await directory.run(
            "keys",
            "create",
            "--tenant",
            "acme",
            "--name",
            "dashboard",
            "--scopes",
            "read,admin",
            "--expires-in",
            "90d"
        )
        #expect(created.status == 0)
        let client = try HTTPClient(service, key: #require(created.lines.first?.first))
        #expect(await client.status("GET", "/v1/tenant") == 200)
        #expect(await client.status("PUT", "/v1/sessions/s", "{}") == 403)
        let page = try await client.get("/v1/keys", as: Page<KeyDocument>.self)
        let key = try #require(page.items.first)
        #expect(page.items.count == 1 && key.scopes == ["read", "admin"])
        let end = try #require(key.expiresAt).date.timeIntervalSinceNow
        #expect((90 * 86400 - 300...90 * 86400).contains(end))
        let tenants = try await directory.run("tenants", "list").lines
        #expect(tenants.map { $0[3] } == ["acme", "default"])
        for arguments in [
            ["--scopes", "read,everything"], ["--expires-in", "0d"], ["--expires-in", "90"],
            ["--name", ""],
        ] {
            let options = ["keys", "create"] + arguments + directory.options
            #expect(try await Program.run(options).status != 0, "\(arguments)")
        }
        #expect(try await directory.run("keys", "revoke", "nothing").status != 0)
        #expect(try await directory.run("keys", "list", "--tenant", "nobody").status != 0)
        #expect(await service.terminate() == 0)
    }
}
