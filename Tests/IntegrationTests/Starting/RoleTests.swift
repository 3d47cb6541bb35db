import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// Instances that share the work by their roles, and wake each other.
@Suite(.timeLimit(.minutes(5)), .serialized) struct RoleTests {
    /// Options with which no poll comes within the time limit of a test.
    private static let noPoll = ["--poll-interval", "3600"]

    @Test func eachInstanceDoesItsPartOnly() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 1000)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        let receiver = try WebhookReceiver()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"] + Self.noPoll)
        let client = try front.client(key: directory.apiKey())
        let http = try HTTPClient(front, key: directory.apiKey())
        try await eventually("the instance is ready") {
            await http.status("GET", "/readyz") == 200
        }
        var health = try await client.health()
        #expect(health.roles == ["api"])
        // Ready since its start, it counts workers from its first check on.
        try await eventually("the workers are counted") {
            health = try await client.health()
            return health.workers != nil
        }
        // It has nothing that could hold a task or a delivery.
        #expect(health.workers == 0)
        try await client.makeSession("s")
        let subscription = try await client.subscribe(
            SubscriptionRequest(url: receiver.open())
        )
        // A test message is an answer to a client, and delivers no event.
        let test = "/v1/subscriptions/\(subscription.id)/test"
        #expect(try await http.send("POST", test).status == 200)
        _ = try await receiver.messages(1)
        let id = try await client.submit([origin.url("/file")], to: "s")[0]

        let worker = try await ServiceProcess(in: directory, ["--roles", "worker"] + Self.noPoll)
        let probe = try HTTPClient(worker, key: directory.apiKey())
        #expect(await probe.status("GET", "/livez") == 200)
        #expect(await probe.status("GET", "/v1/sessions") == 503)
        try await eventually("the worker is ready") {
            await probe.status("GET", "/readyz") == 200
        }
        health = try await probe.get("/health", as: HealthDocument.self)
        #expect(health.roles == ["worker"])
        try await eventually("it has sent a heartbeat") {
            try await probe.get("/health", as: HealthDocument.self).workers == 1
        }
        try await completed(id, client)
        // Neither of the two delivers.
        #expect(receiver.received().count == 1)

        let hooks = try await ServiceProcess(
            in: directory,
            ["--roles", "webhooks"] + Self.noPoll
        )
        let count = try await client.events(of: "s").count
        _ = try await receiver.messages(1 + count)
        for service in [hooks, worker, front] { #expect(await service.terminate() == 0) }
    }

    @Test func aSubmitIsBegunElsewhereWithoutAPoll() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let body = OriginBody.random(seed: 1, size: 100_000)
        origin.when("/held", .gated(body, after: 50_000, gate))
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        let receiver = try WebhookReceiver()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"] + Self.noPoll)
        let back = try await ServiceProcess(
            in: directory,
            ["--roles", "worker,webhooks"] + Self.noPoll
        )
        let client = try front.client(key: directory.apiKey())
        for service in [front, back] {
            let probe = HTTPClient(service, key: "none")
            try await eventually("the instance hears others") {
                try await probe.get("/health", as: HealthDocument.self).signals.status == "pass"
            }
        }
        try await client.makeSession("s")
        _ = try await client.subscribe(SubscriptionRequest(url: receiver.open()))
        var ended: [String] = []
        for round in 1...3 {
            let id = try await client.submit([origin.url("/file")], to: "s")[0]
            ended.append(id)
            try await completed(id, client)
            let count = try await client.events(of: "s").count
            _ = try await receiver.messages(count)
            #expect(count == 4 * round)
        }
        // A request of the client reaches a running attempt too.
        let held = try await client.submit([origin.url("/held")], to: "s")[0]
        await origin.log.arrived(1, at: "/held")
        _ = try await client.control("cancel", task: held)
        try await eventually("its part file is gone") {
            try directory.holdsOnlyResults(ended)
        }
        gate.open()
        for service in [front, back] { #expect(await service.terminate() == 0) }
    }

    @Test(arguments: [
        ["--listen", "off"],
        ["--listen-database-url", "postgres://nobody@127.0.0.1:1/none"],
    ])
    func withoutSignalsThePollFindsEverything(options: [String]) async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 1000)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        let receiver = try WebhookReceiver()
        let front = try await ServiceProcess(in: directory, ["--roles", "api"] + options)
        let back = try await ServiceProcess(
            in: directory,
            ["--roles", "worker,webhooks"] + options
        )
        let client = try front.client(key: directory.apiKey())
        let http = try HTTPClient(front, key: directory.apiKey())
        try await eventually("the instance is ready") {
            await http.status("GET", "/readyz") == 200
        }
        let health = try await client.health()
        #expect(health.signals.status == (options.contains("off") ? "off" : "fail"))
        #expect(health.status == "pass")
        try await client.makeSession("s")
        _ = try await client.subscribe(SubscriptionRequest(url: receiver.open()))
        let id = try await client.submit([origin.url("/file")], to: "s")[0]
        try await completed(id, client)
        _ = try await receiver.messages(try await client.events(of: "s").count)
        for service in [front, back] { #expect(await service.terminate() == 0) }
    }

    @Test func anUnknownRoleIsRefusedWithThoseThereAre() async throws {
        let directory = try DataDirectory()
        await #expect {
            _ = try await ServiceProcess(in: directory, ["--roles", "api,scheduler"])
        } throws: { error in
            "\(error)".contains("scheduler is none of api, worker, webhooks")
        }
    }

    private func completed(_ id: String, _ client: TransferService) async throws {
        try await eventually("the task is completed") {
            try await client.task(id).state == "completed"
        }
    }
}
