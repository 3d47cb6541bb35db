import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Where the requests of single tenants may go, and what is recorded of those that may not.
@Suite(.timeLimit(.minutes(5))) struct TenantEgressTests {
    private static func outcome(_ url: String, _ client: TransferService) async throws -> String {
        let id = try await client.submit([url], to: "s")[0]
        var task: TaskDocument?
        try await eventually("the task has ended") {
            task = try await client.task(id)
            return ["completed", "failed"].contains(task?.state ?? "")
        }
        return task?.error?.code ?? task?.state ?? ""
    }

    @Test func aTenantsRulesHoldForItAloneAndAreAudited() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 100)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        let made = try await Program.run(
            ["keys", "create", "--tenant", "other"] + directory.options
        )
        let other = service.client(key: made.output.trimmingCharacters(in: .newlines))
        let client = try service.client(key: directory.apiKey())
        for client in [client, other] {
            try await client.makeSession("s")
            #expect(try await Self.outcome(origin.url("/file"), client) == "completed")
        }
        let limit = ["tenants", "egress"] + directory.options
        #expect(try await Program.run(limit + ["--deny-network", "127.0.0.0/8"]).status == 0)
        // A connection that is kept from before is of no use either.
        try await eventually("the rules hold") {
            try await Self.outcome(origin.url("/file"), client) == "egress_denied"
        }
        let requests = origin.log.now.requests(at: "/file").count
        #expect(try await Self.outcome(origin.url("/file"), client) == "egress_denied")
        #expect(origin.log.now.requests(at: "/file").count == requests)
        #expect(try await Self.outcome(origin.url("/file"), other) == "completed")
        #expect(try await Program.run(limit).output == "deny-network\t127.0.0.0/8\n")

        #expect(try await Program.run(limit + ["--none"]).status == 0)
        try await eventually("the rules are gone") {
            try await Self.outcome(origin.url("/file"), client) == "completed"
        }
        #expect(await service.terminate() == 0)
        let entries = try await Program.run(
            ["audit", "list", "--limit", "1000"] + directory.options,
            lines: 1000
        ).output.split(separator: "\n").filter { $0.contains("egress refused") }
        #expect(entries.count == 1)
        #expect(entries.first?.contains(" to 127.0.0.1\"") == true)
    }

    /// Whatever is allowed, no instance asks another one of the same service.
    @Test func anotherInstanceIsNotReachedThroughThisOne() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let second = try await ServiceProcess(in: directory, ["--roles", "api"])
        let client = try service.client(key: directory.apiKey())
        try await client.makeSession("s")
        let url = "http://127.0.0.1:\(second.announcement.port)/livez"
        try await eventually("they know of each other", within: .seconds(30)) {
            try await Self.outcome(url, client) == "egress_denied"
        }
        #expect(await second.terminate() == 0)
        #expect(await service.terminate() == 0)
    }
}
