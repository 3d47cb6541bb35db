import ArgumentParser
import Foundation
import Hummingbird
import StandardWebhooks

/// The color feed of Apple's guide to BGTaskScheduler, as a service: it refreshes its feed every
/// quarter of an hour, and cleans its database once a week while there is nothing else to do.
///
/// It has no timer of its own. transferd launches it by a webhook when a task is due, and says until
/// when it has to be done.
@main
struct ColorFeed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "color-feed")

    static let refresh = "com.example.colorfeed.refresh"
    static let cleaning = "com.example.colorfeed.cleaning"

    @Option(help: "The address of transferd.")
    var transferd = "http://127.0.0.1:8080"

    @Option(help: "The file with an API key.")
    var keyFile: String

    @Option(help: "The port to listen on; 0 chooses a free one.")
    var port = 8090

    @Option(help: "The seconds between two refreshes.")
    var refreshEvery = 15 * 60

    @Option(help: "The seconds between two cleanings.")
    var cleanEvery = 7 * 24 * 3600

    func run() async throws {
        let key = try String(contentsOfFile: keyFile, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let scheduler = BackgroundTaskScheduler(address: transferd, key: key)
        let feed = Feed()
        let secret = SubscriptionSecret()
        let router = Router()
        router.get("/feed") { _, _ in
            String(decoding: try JSONEncoder().encode(await feed.colors), as: UTF8.self)
        }
        router.get("/cleanings") { _, _ in "\(await feed.cleanings)" }
        router.post("/transferd") { request, _ in
            let body = Array(
                try await request.body.collect(upTo: 64 * 1024).readableBytesView
            )
            let headers = request.headers.map { (name: $0.name.rawName, value: $0.value) }
            guard let launch = try await secret.launch(headers: headers, body: body) else {
                return HTTPResponse.Status.noContent
            }
            // Answered at once: the work is done beside the answer, and its end is told.
            Task { await perform(launch, on: feed, tellingOf: scheduler) }
            return .accepted
        }
        let (arguments, secrets) = (self, secret)
        let server = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? arguments.port
                do {
                    try await arguments.schedule(by: scheduler, port: port, secrets)
                    Self.say(#"{"event": "ready", "port": \#(port)}"#)
                } catch {
                    Self.say("not scheduled: \(error)")
                }
            }
        )
        try await server.runService()
    }

    /// Registers the two handlers and submits a request for each, as an app does at its launch.
    private func schedule(
        by scheduler: BackgroundTaskScheduler,
        port: Int,
        _ secret: SubscriptionSecret
    ) async throws {
        try await scheduler.permit(["com.example.colorfeed.*"])
        await secret.set(
            try await scheduler.subscribe(
                to: "http://127.0.0.1:\(port)/transferd",
                types: ["background_task.launch"]
            )
        )
        try await scheduler.register(Self.refresh, kind: "app_refresh")
        try await scheduler.register(Self.cleaning, kind: "processing")
        try await scheduler.submit(
            BackgroundTaskRequest(
                identifier: Self.refresh,
                recurrence: Recurrence(everySeconds: refreshEvery),
                requiresNetworkConnectivity: true,
                requiresExternalPower: nil
            )
        )
        try await scheduler.submit(
            BackgroundTaskRequest(
                identifier: Self.cleaning,
                recurrence: Recurrence(everySeconds: cleanEvery),
                requiresNetworkConnectivity: nil,
                requiresExternalPower: true
            )
        )
    }

    private func perform(
        _ launch: Launch,
        on feed: Feed,
        tellingOf scheduler: BackgroundTaskScheduler
    ) async {
        switch launch.identifier {
        case Self.refresh: await feed.refresh()
        case Self.cleaning: await feed.clean(olderThan: 7 * 24 * 3600)
        default: break
        }
        do {
            try await scheduler.complete(launch.runID, success: true)
        } catch {
            // The run expires, and the next one comes at its time.
            Self.say("not completed: \(error)")
        }
    }

    /// Writes a line at once, also to a pipe.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
