import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// A tenant with few requests, beside one that requests everything and releases nothing.
///
/// Names without an answer need a name server, which requires root.
@Suite(.timeLimit(.minutes(5)), .serialized, .enabled(if: geteuid() == 0, "needs root"))
struct QuietTenantTests {
    private static let body = OriginBody.random(seed: 4, size: 50_000)
    /// The time that a busy machine may need for work of a second.
    private static let patience: Duration = .seconds(30)
    /// The threads for names, of both loops and for the disk, and those that the runtime adds for a
    /// burst.
    private static let threadsMore = 60

    private struct Flood {
        let origin: LoopbackOrigin
        let names: NameServer
        let receiver: WebhookReceiver
        let gate = OriginGate()
        let client: TransferService

        func begin() async throws {
            try await client.makeSession("s")
            origin.when("/drip", .gated(body, after: 1000, gate))
            for number in 0..<200 {
                let url = receiver.open(
                    "/silent-\(number)",
                    answers: Array(repeating: .hold(gate), count: 100)
                )
                _ = try await client.subscribe(SubscriptionRequest(url: url))
            }
            let drip = TaskRequest.Target.url(origin.url("/drip"))
            let patient = OptionMembers(["timeout_for_request": .integer(600)])
            let held = TaskRequest(target: drip, options: patient)
            try await client.submit(Array(repeating: held, count: 200), toSession: "s")
            let deep = (0..<100).map { number in
                let path = (0..<12).map { "\(number)-\($0)" }.joined(separator: "/")
                return TaskRequest(target: drip, destination: DestinationRequest(path: path))
            }
            try await client.submit(deep, toSession: "s")
            await origin.log.arrived(6, at: "/drip")
            for number in 0..<1000 { names.know("n\(number).silent.test", .silence) }
            _ = try await client.submit((0..<1000).map { "http://n\($0).silent.test/" }, to: "s")
        }
    }

    @Test func aQuietTenantIsServedBesideFloods() async throws {
        let names = try NameServer()
        defer { names.stop() }
        names.know("host.test", .addresses(["127.0.0.1"]))
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let receiver = try WebhookReceiver()
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory, nameServer: names)
        let threads = try service.threadCount()
        let flood = Flood(
            origin: origin,
            names: names,
            receiver: receiver,
            client: try service.client(key: directory.apiKey())
        )
        defer { flood.gate.open() }
        let made = try await Program.run(
            ["keys", "create", "--tenant", "quiet"] + directory.options
        )
        let key = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let quiet = service.client(key: key)
        try await quiet.makeSession("q")
        _ = try await quiet.subscribe(SubscriptionRequest(url: receiver.open("/quiet")))

        try await flood.begin()
        try await eventually("the silent receivers have what they may have") {
            receiver.log.now.requestsOpen >= 32
        }
        origin.when("/file", .response(body: Self.body))
        for number in 1...3 {
            // From the flooded host itself, by a name that was never looked up.
            let url = "http://host.test:\(origin.port)/file"
            let same = origin.url("/file")
            let ids = try await quiet.submit([url, same], to: "q")
            for id in ids {
                try await eventually("the quiet one has its file", within: Self.patience) {
                    try await quiet.task(id).state
                        == "completed"
                }
            }
            // Each task is created, downloaded and completed, and the session's end is delivered.
            try await eventually("the quiet one is told", within: Self.patience) {
                Set(receiver.received(at: "/quiet").map(\.id)).count >= 6 * number
            }
            #expect(try service.threadCount() <= threads + Self.threadsMore)
        }
        flood.gate.open()
        #expect(await service.terminate() == 0)
    }
}
