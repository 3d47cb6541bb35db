import ChildProcess
import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The example service of `Examples/ColorFeed`, beside a running transferd.
@Suite(.timeLimit(.minutes(3))) struct ColorFeedTests {
    private struct Announcement: Decodable {
        let port: Int
    }

    private struct Color: Decodable {
        let red: Double
    }

    @Test func isRefreshedAgainAndAgainAndCleanedWhileCapacityIsIdle() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let client = try HTTPClient(service, key: directory.apiKey())
        let settings = "/v1/tenant/background-settings"
        #expect(await client.status("PATCH", settings, #"{"capacity": "busy"}"#) == 200)
        let example = try start(beside: service, directory)
        defer { example.kill() }
        let line = try #require(await example.line())
        let port = try JSONDecoder().decode(Announcement.self, from: line).port
        let feed = HTTPClient(port: port, key: "none")
        try await eventually("the feed is refreshed twice") {
            let colors: [Color] = try await feed.get("/feed")
            return colors.count >= 6
        }
        let waiting: Page<BackgroundTaskRequestDocument> = try await client.get(
            "/v1/background-tasks/requests"
        )
        let cleaning = try #require(waiting.items.first { $0.identifier.hasSuffix("cleaning") })
        #expect(cleaning.waitsFor.reason == "capacity")
        #expect(try await cleanings(feed) == 0)
        #expect(await client.status("PATCH", settings, #"{"capacity": "idle"}"#) == 200)
        try await eventually("the database is cleaned") { try await cleanings(feed) == 1 }
        try await eventually("all runs have ended well") {
            let runs: Page<RunDocument> = try await client.get("/v1/background-tasks/runs")
            return runs.items.count >= 3 && runs.items.allSatisfy { $0.state == "succeeded" }
        }
        #expect(await service.terminate() == 0)
    }

    @Test func leavesWhatOthersHaveAndReplacesWhatAnEarlierStartHasLeft() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        let others = ["org.example.thumbnails.*", "com.example.colorfeed"]
        try await client.change(BackgroundSettingsPatchRequest(permittedIdentifiers: others))
        let other = try await client.subscribe(
            SubscriptionRequest(
                url: "http://127.0.0.1:9/hook",
                eventTypes: ["background_task.launch"]
            )
        )
        var own: [String] = []
        for _ in 1...2 {
            let example = try start(beside: service, directory)
            defer { example.kill() }
            let line = try #require(await example.line())
            _ = try JSONDecoder().decode(Announcement.self, from: line)
            let subscriptions = try await client.subscriptions().items
            #expect(subscriptions.count == 2)
            #expect(subscriptions.contains { $0.id == other.id })
            own += subscriptions.map(\.id).filter { $0 != other.id }
        }
        // The second start has a subscription of its own, whose secret it knows.
        #expect(Set(own).count == 2)
        let settings = try await client.permit(identifiers: [])
        #expect(settings.permittedIdentifiers == others + ["com.example.colorfeed.*"])
        #expect(await service.terminate() == 0)
    }

    private func cleanings(_ feed: HTTPClient) async throws -> Int {
        Int(String(decoding: try await feed.send("GET", "/cleanings").body, as: UTF8.self)) ?? -1
    }

    private func start(
        beside service: ServiceProcess,
        _ directory: DataDirectory
    ) throws -> ChildProcess {
        let program = URL(filePath: Program.path).deletingLastPathComponent()
            .appending(path: "color-feed").path
        return try ChildProcess(
            program,
            [
                "--transferd", "http://127.0.0.1:\(service.announcement.port)",
                "--key-file", "\(directory.path)/api-key", "--port", "0", "--refresh-every", "10",
            ],
            environment: Program.environment,
            output: .piped
        )
    }
}
