import Foundation
import Glibc
import Testing
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
        let client: APIClient

        /// Submits `count` tasks, each with the JSON of `task`.
        func submit(_ count: Int, _ task: (Int) -> String) async throws {
            let batch = (0..<count).map(task).joined(separator: ",")
            let answer = try await client.send("POST", "/v1/sessions/s/tasks", "[\(batch)]")
            #expect(answer.status == 202)
        }

        func begin() async throws {
            #expect(try await client.send("PUT", "/v1/sessions/s", "{}").status == 201)
            origin.when("/drip", .gated(body, after: 1000, gate))
            for number in 0..<200 {
                let url = receiver.open(
                    "/silent-\(number)",
                    answers: Array(repeating: .hold(gate), count: 100)
                )
                let made = try await client.send("POST", "/v1/subscriptions", #"{"url":"\#(url)"}"#)
                #expect(made.status == 201)
            }
            let drip = origin.url("/drip")
            try await submit(200) { _ in #"{"url":"\#(drip)","timeout_for_request":600}"# }
            try await submit(100) { number in
                let path = (0..<12).map { "\(number)-\($0)" }.joined(separator: "/")
                return #"{"url":"\#(drip)","destination":{"path":"\#(path)"}}"#
            }
            await origin.log.arrived(6, at: "/drip")
            for number in 0..<1000 { names.know("n\(number).silent.test", .silence) }
            try await submit(1000) { #"{"url":"http://n\#($0).silent.test/"}"# }
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
            client: try APIClient(service, key: directory.apiKey())
        )
        defer { flood.gate.open() }
        let made = try await Program.run(
            ["keys", "create", "--tenant", "quiet"] + directory.options
        )
        let key = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let quiet = try APIClient(service, key: key)
        #expect(try await quiet.send("PUT", "/v1/sessions/q", "{}").status == 201)
        let hook = #"{"url":"\#(receiver.open("/quiet"))"}"#
        #expect(try await quiet.send("POST", "/v1/subscriptions", hook).status == 201)

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
                    try await quiet.get("/v1/tasks/\(id)", as: TaskDocument.self).state
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
