import ArgumentParser
import Foundation
import Hummingbird
import StandardWebhooks
import TransferClient
import TransferHummingbird
import TransferWire

/// The color feed of Apple's guide to BGTaskScheduler, as a service: it refreshes its feed every
/// quarter of an hour, and cleans its database once a week while there is nothing else to do.
///
/// It has no timer of its own. transferd launches it by a webhook when a task is due, and says
/// until when it has to be done.
@main
struct ColorFeed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "color-feed")

    /// The name of the program, with which its identifiers begin and by which it knows its
    /// subscription.
    static let name = "com.example.colorfeed"
    static let refresh = "\(name).refresh"
    static let cleaning = "\(name).cleaning"

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
        let service = TransferService(url: transferd, apiKey: key)
        let feed = Feed()
        // The secret comes with the subscription, and that needs the port of this server.
        let launches = WebhookHandler(secrets: []) { event in
            if case .event(let event) = event, case .backgroundTask(.launch, let run) = event.kind {
                // Answered at once: the work is done beside the answer, and its end is told.
                Task { await Self.perform(run, on: feed, for: service) }
            }
            return .done
        }
        let router = Router()
        router.get("/feed") { _, _ in
            String(decoding: try JSONEncoder().encode(await feed.colors), as: UTF8.self)
        }
        router.get("/cleanings") { _, _ in "\(await feed.cleanings)" }
        router.webhooks("/transferd", handler: launches)
        let arguments = self
        let server = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? arguments.port
                do {
                    try await arguments.schedule(by: service, port: port, launches)
                    Self.say(#"{"event": "ready", "port": \#(port)}"#)
                } catch {
                    Self.say("not scheduled: \(error)")
                }
            }
        )
        try await server.runService()
    }

    /// Registers the two handlers and submits a request for each, as an app does at its launch.
    ///
    /// What others have of the same tenant stays, and what an earlier start has left is replaced.
    private func schedule(
        by service: TransferService,
        port: Int,
        _ launches: WebhookHandler
    ) async throws {
        try await service.permit(identifiers: ["\(Self.name).*"])
        let subscription = try await service.subscribe(
            SubscriptionRequest(
                url: "http://127.0.0.1:\(port)/transferd",
                eventTypes: ["background_task.launch"],
                description: Self.name
            )
        )
        let secret = subscription.secret.flatMap(SigningSecret.init(serialized:))
        launches.replaceSecrets(with: secret.map { [$0] } ?? [])
        try await removeSubscriptions(but: subscription.id, at: service)
        try await register(Self.refresh, kind: "app_refresh", at: service)
        try await register(Self.cleaning, kind: "processing", at: service)
        var recurrence = RecurrenceDocument()
        recurrence.everySeconds = Double(refreshEvery)
        try await service.submit(
            BackgroundTaskSubmission(
                identifier: Self.refresh,
                requiresNetworkConnectivity: true,
                recurrence: recurrence
            )
        )
        recurrence.everySeconds = Double(cleanEvery)
        try await service.submit(
            BackgroundTaskSubmission(
                identifier: Self.cleaning,
                requiresExternalPower: true,
                recurrence: recurrence
            )
        )
    }

    /// Removes the subscriptions of earlier starts, whose secrets are lost.
    private func removeSubscriptions(
        but current: String,
        at service: TransferService
    ) async throws {
        var cursor: String?
        repeat {
            let page = try await service.subscriptions(after: cursor)
            for subscription in page.items
            where subscription.description == Self.name && subscription.id != current {
                try await service.unsubscribe(subscription.id)
            }
            cursor = page.nextCursor
        } while cursor != nil
    }

    /// Registers a handler, unless an earlier start has done so.
    private func register(
        _ identifier: String,
        kind: String,
        at service: TransferService
    ) async throws {
        do throws(TransferError) {
            try await service.register(
                HandlerRequest(kind: kind),
                forTaskWithIdentifier: identifier
            )
        } catch  where error.problem?.code == .handlerRegistered {
            return
        }
    }

    private static func perform(
        _ run: ClientEventDocument.Run,
        on feed: Feed,
        for service: TransferService
    ) async {
        switch run.identifier {
        case Self.refresh: await feed.refresh()
        case Self.cleaning: await feed.clean(olderThan: 7 * 24 * 3600)
        default: break
        }
        do {
            try await service.complete(run: run.runID, success: true)
        } catch {
            // The run expires, and the next one comes at its time.
            say("not completed: \(error)")
        }
    }

    /// Writes a line at once, also to a pipe.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
