import ArgumentParser
import HTTPTypes
import Hummingbird
import Logging
import StandardWebhooks
import TransferClient
import TransferWire

/// `transferctl listen`: receives the webhooks of a session, verifies and prints them.
struct Listen: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Receives the webhooks of a session, verifies them, and prints their events.",
        discussion: """
            Creates the session if it is not there, subscribes itself, and removes the \
            subscription when it is stopped. The service must be allowed to reach this machine.
            """
    )

    @OptionGroup var options: ServiceOptions

    @Argument(help: "The name of the session.")
    var session: String

    @Option(help: "The port of 127.0.0.1 to listen on; 0 chooses a free one.")
    var port = 0

    /// The time that one attempt to remove the subscription may take.
    private static let leaveTimeout: Duration = .seconds(5)

    mutating func validate() throws {
        try SessionName.validate(session)
        guard (0...65_535).contains(port) else {
            throw ValidationError("--port must be from 0 to 65535.")
        }
    }

    mutating func run() async throws {
        let service = try options.service()
        // A receiver is often started before the first task.
        let session = try await service.makeSession(session).identifier
        let receiver = HookReceiver()
        let router = Router()
        router.post("/") { request, _ in
            let body = try await request.body.collect(upTo: WebhookHandler.bodyBytesMax)
            let status = await receiver.take(
                request.headers.map { ($0.name.canonicalName, $0.value) },
                Array(body.readableBytesView)
            )
            return HTTPResponse.Status(code: status)
        }
        var logger = Logger(label: "transferctl")
        // The command itself says why it ends.
        logger.logLevel = .critical
        let (started, start) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { start.yield($0.localAddress?.port ?? 0) },
            logger: logger
        )
        let address = "127.0.0.1:\(port)"
        try await withThrowingTaskGroup(of: Void.self) { group in
            // It ends, and with it the command, on SIGINT and SIGTERM.
            group.addTask {
                // A server that cannot start tells nobody of its start.
                defer { start.finish() }
                try await application.runService()
            }
            defer { group.cancelAll() }
            for await port in started {
                let subscription = try await service.subscribe(
                    SubscriptionRequest(
                        url: "http://127.0.0.1:\(port)/",
                        client: service.client,
                        sessionIdentifier: session
                    )
                )
                receiver.use(subscription.secret.flatMap(SigningSecret.init(serialized:)))
                do {
                    try Output.note("listening on 127.0.0.1:\(port) as \(subscription.id)")
                    group.addTask { try await receiver.untilUnprintable() }
                    try await group.next()
                } catch {
                    await Self.unsubscribe(subscription.id, from: service)
                    throw error
                }
                try await Self.leaving(service).unsubscribe(subscription.id)
                return
            }
            do {
                try await group.waitForAll()
            } catch {
                throw TransferError(.misconfigured, "It cannot listen on \(address): \(error)")
            }
        }
    }

    /// Returns the service as it is asked by a command that a signal has ended: no further one
    /// would end it, if the service does not answer.
    private static func leaving(_ service: TransferService) -> TransferService {
        var service = service
        service.timeout = leaveTimeout
        service.retryPolicy = RetryPolicy(attemptsMax: 2, delayMax: .seconds(1))
        return service
    }

    /// Removes the subscription of a listener that has failed.
    private static func unsubscribe(_ id: String, from service: TransferService) async {
        do throws(TransferError) {
            try await leaving(service).unsubscribe(id)
        } catch {
            // The failure that led here is the one to throw.
            Output.complain("The subscription \(id) stays: \(error)")
        }
    }
}
