import ChildProcess
import Curl
import Foundation
import StandardWebhooks
import TransferModel
import TransferWire

/// One run from the start of the service to its end.
struct DemoRun: Sendable {
    private static let sessionIdentifier = "demo"
    /// The pause between two checks of the progress.
    private static let progressInterval: Duration = .milliseconds(200)

    let program: String
    let url: String?
    let screen: Screen

    /// Performs the run and returns whether everything held.
    func perform() async throws -> Bool {
        let directory = try TemporaryDirectory()
        var verdict: Verdict
        do {
            let server = LocalServer()
            verdict = try await server.whileRunning { address in
                try await withService(in: directory.path) { service in
                    try await show(service, server.receiver, address: address)
                }
            }
        } catch {
            _ = directory.remove()
            throw error
        }
        verdict.note(
            "nothing is left behind",
            faults: directory.remove() ? [] : ["\(directory.path) could not be removed"]
        )
        screen.show("\nChecks")
        for line in verdict.lines { screen.show(line) }
        return verdict.hasHeld
    }

    /// Starts the service, and ends it whatever happens.
    private func withService(
        in directory: String,
        _ body: (Service) async throws -> Verdict
    ) async throws -> Verdict {
        let startedAt = ContinuousClock.now
        let service = try await Service.start(program: program, directory: directory)
        screen.show(
            """
            service   \(service.address), process \(service.pid), with its own PostgreSQL in \
            \(directory), ready in \(Text.milliseconds(.now - startedAt)) ms
            """
        )
        var verdict: Verdict
        do {
            verdict = try await body(service)
        } catch {
            _ = await service.stop()
            if !Task.isCancelled {
                screen.show("\nThe service's last words:\n\(service.lastWords)")
            }
            throw error
        }
        let stoppedAt = ContinuousClock.now
        let exit = await service.stop()
        verdict.note(
            "SIGTERM ended the service in \(Text.milliseconds(.now - stoppedAt)) ms",
            faults: exit == .status(0) ? [] : ["\(exit)"]
        )
        return verdict
    }

    private func show(
        _ service: Service,
        _ receiver: Receiver,
        address: String
    ) async throws -> Verdict {
        let client = Client(
            address: service.address,
            apiKey: service.apiKey,
            curl: try CurlLoop(name: "client")
        )
        let batch = url.map(Batch.of) ?? .ofOwnFiles(origin: address)
        let session = Self.sessionIdentifier
        _ = try await client.putSession(session)
        let subscription = try await client.subscribe(address + Receiver.path, to: session)
        screen.show("webhooks  \(address)\(Receiver.path), subscription \(subscription.id)")
        let submittedAt = Date.now
        let receipt = try await client.submit(batch, to: session)
        screen.show(
            """
            submitted \(receipt.items.count) downloads with one request in \
            \(Text.milliseconds(.seconds(-submittedAt.timeIntervalSinceNow))) ms
            """
        )
        try await follow(client, receiver, batch, since: submittedAt)
        let timeline = try Timeline(receiver.deliveries, since: submittedAt)
        screen.show("\nWebhooks, in milliseconds since the submit")
        for line in timeline.lines { screen.show(line) }
        screen.show("")
        let inspection = Inspection(
            client: client,
            batch: batch,
            receipt: receipt,
            receiver: receiver,
            secret: subscription.secret.flatMap(SigningSecret.init(serialized:)),
            submittedAt: submittedAt,
            screen: screen
        )
        return try await inspection.verdict(of: session)
    }

    /// Shows progress until `session.events_finished` has come.
    private func follow(
        _ client: Client,
        _ receiver: Receiver,
        _ batch: Batch,
        since start: Date
    ) async throws {
        while true {
            let tasks = try await client.tasks(of: Self.sessionIdentifier)
            let isFinished = receiver.hasFinished
            screen.showProgress(Self.progress(of: tasks, since: start))
            if isFinished { break }
            try await Task.sleep(for: Self.progressInterval)
        }
        let tasks = try await client.tasks(of: Self.sessionIdentifier)
        screen.show(Self.progress(of: tasks, since: start))
    }

    private static func progress(of tasks: [TaskDocument], since start: Date) -> String {
        let ended = tasks.count { ["completed", "failed", "cancelled"].contains($0.state) }
        let received = tasks.reduce(0) { $0 + $1.countOfBytesReceived }
        let elapsed = max(0.001, -start.timeIntervalSinceNow)
        let rate = Text.mebibytes(Int64(Double(received) / elapsed))
        let waiting = tasks.first { $0.state == "waiting_for_retry" }?.error?.message
        return """
            running   \(ended) of \(tasks.count) tasks ended, \(Text.mebibytes(received)) MiB, \
            \(rate) MiB/s, \(Text.seconds(.seconds(elapsed))) s\(waiting.map { ", waiting: \($0)" } ?? "")
            """
    }
}
