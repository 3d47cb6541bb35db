import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The service behind a pooler that assigns sessions for one transaction.
@Suite(.timeLimit(.minutes(5)), .serialized) struct PoolerTests {
    /// The private cluster of an instance that answers clients, with a pooler in front of it.
    private struct Setting {
        let directory: DataDirectory
        let front: ServiceProcess
        let pooler: TransactionPooler
        let direct: String

        init() async throws {
            directory = try DataDirectory()
            front = try await ServiceProcess(in: directory, ["--roles", "api"])
            let socket = "\(directory.path)/run"
            direct = "host=\(socket) user=transferd dbname=postgres"
            pooler = try await TransactionPooler(
                inFrontOf: socket,
                user: "transferd",
                database: "postgres"
            )
        }

        func pooled(_ options: [String]) async throws -> ServiceProcess {
            try await ServiceProcess(
                in: directory,
                ["--database-url", pooler.url, "--pooler", "transaction"] + options
            )
        }
    }

    @Test(arguments: [true, false])
    func aSessionRunsToItsEndThroughIt(isHeard: Bool) async throws {
        let setting = try await Setting()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 20_000)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        let receiver = try WebhookReceiver()
        let service = try await setting.pooled(
            isHeard ? ["--listen-database-url", setting.direct] : ["--listen", "off"]
        )
        let client = try service.client(key: setting.directory.apiKey())
        let http = try HTTPClient(service, key: setting.directory.apiKey())
        try await eventually("the instance is ready") {
            await http.status("GET", "/readyz") == 200
        }
        // An instance is ready before the connection on which it listens is open.
        try await eventually("it listens if it is to") {
            try await client.health().signals.status == (isHeard ? "pass" : "off")
        }
        try await client.makeSession("s")
        _ = try await client.subscribe(SubscriptionRequest(url: receiver.open()))
        var ids: [String] = []
        // Many small requests and many at once, so that sessions change hands.
        for _ in 0..<20 {
            ids += try await client.submit(
                Array(repeating: origin.url("/file"), count: 10),
                to: "s"
            )
        }
        for id in ids {
            try await eventually("the task is completed") {
                try await client.task(id).state == "completed"
            }
        }
        let events = try await client.events(of: "s")
        let messages = try await receiver.messages(events.count)
        #expect(messages.count == events.count)
        #expect(events.last?.type == "session.events_finished")
        #expect(await service.terminate() == 0, "the one behind the pooler")
        #expect(await setting.front.terminate() == 0, "the one with the private cluster")
        withExtendedLifetime(setting) {}
    }

    @Test func whatNeedsASessionOfItsOwnIsRefusedWithWhatToDo() async throws {
        let setting = try await Setting()
        await #expect {
            _ = try await setting.pooled([])
        } throws: {
            "\($0)".contains("TRANSFERD_LISTEN_DATABASE_URL, past the pooler, or off")
        }
        let status = try await Program.run(
            ["migrate", "--database-url", setting.pooler.url, "--pooler", "transaction"]
                + setting.directory.options
        ).status
        #expect(status != 0)
        let reverted = try await Program.run(
            ["migrate", "--database-url", setting.direct, "--revert", "1"]
                + setting.directory.options
        )
        #expect(reverted.output.contains("reverted 1"))
        await #expect {
            _ = try await setting.pooled(["--listen", "off"])
        } throws: {
            "\($0)".contains("The database lacks 1 migrations")
                && "\($0)".contains("`transferd migrate --pooler none`")
        }
        // A service that may bypass the pooler applies it.
        let service = try await setting.pooled(["--listen-database-url", setting.direct])
        #expect(await service.terminate() == 0)
        #expect(await setting.front.terminate() == 0)
        withExtendedLifetime(setting) {}
    }
}
