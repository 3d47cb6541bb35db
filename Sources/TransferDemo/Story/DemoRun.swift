import ChildProcess
import Foundation
import Glibc
import StandardWebhooks
import TransferClient
import TransferWire

/// One run from the start of the service to its end.
struct DemoRun: Sendable {
    private static let sessionIdentifier = "demo"

    let transferd: String
    let transferctl: String
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
        let service = try await Service.start(program: transferd, directory: directory)
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
        let client = TransferService(url: service.address, apiKey: service.apiKey)
        let identifier = try await client.makeSession(Self.sessionIdentifier).identifier
        let subscription = try await client.subscribe(
            SubscriptionRequest(
                url: address + Receiver.path,
                sessionIdentifier: identifier,
                // With the progress, too, so that no event is missing.
                eventTypes: ["task.*", "task.progress", "session.*"]
            )
        )
        screen.show("webhooks  \(address)\(Receiver.path), subscription \(subscription.id)")
        var configuration = TransferSessionConfiguration.background(withIdentifier: identifier)
        configuration.progressInterval = .seconds(1)
        let session = TransferSession(configuration: configuration, service: client)
        let batch = url.map(Batch.of) ?? .ofOwnFiles(origin: address)
        let submittedAt = Date.now
        let tasks = batch.items.map { item in
            let task = session.downloadTask(with: item.url)
            task.taskDescription = item.clientString
            task.resume()
            return task
        }
        // A webhook says that the tasks are there, which can then be attached to.
        try await receiver.first()
        screen.show("submitted \(tasks.count) downloads; transferctl attach \(identifier)")
        try await attach(to: identifier, of: service)
        try await receiver.last()
        let timeline = try Timeline(receiver.deliveries, since: submittedAt)
        screen.show("\nWebhooks, in milliseconds since the submit")
        for line in timeline.lines { screen.show(line) }
        screen.show("")
        let inspection = Inspection(
            service: client,
            batch: batch,
            tasks: tasks,
            receiver: receiver,
            secret: subscription.secret.flatMap(SigningSecret.init(serialized:)),
            submittedAt: submittedAt,
            screen: screen
        )
        let verdict = try await inspection.verdict(of: identifier)
        try await session.close()
        return verdict
    }

    /// Shows the progress as users see it, until nothing of the session is outstanding.
    private func attach(to session: String, of service: Service) async throws {
        let variables = ["TRANSFERD_URL": service.address, "TRANSFERD_API_KEY": service.apiKey]
        let command = try ChildProcess(
            transferctl,
            ["attach", session],
            environment: ProcessInfo.processInfo.environment.merging(variables) { $1 },
            output: .descriptor(STDOUT_FILENO),
            errors: .descriptor(STDERR_FILENO),
            // Ctrl-C ends the demo, which ends the command.
            isGroupLeader: true
        )
        let exit = await withTaskCancellationHandler {
            await command.exit()
        } onCancel: {
            command.kill()
        }
        try Task.checkCancellation()
        // With 1, the command says that a transfer has failed, as one has to.
        guard exit == .status(0) || exit == .status(1) else {
            throw DemoError.commandFailed("transferctl attach \(session)", exit)
        }
    }
}
