import Hummingbird
import Logging
import ServiceLifecycle

/// One of the demo's two other parties, origin or subscriber, on a free port of 127.0.0.1.
struct LocalServer: Sendable {
    let receiver = Receiver()

    /// Serves while `body` runs, which is given the address.
    func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (_ address: String) async throws -> Result
    ) async throws -> Result {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let router = Router()
        Origin.add(to: router)
        receiver.add(to: router)
        var logger = Logger(label: "transferd-demo")
        // It reports each connection that is still open at the end, such as a webhook's.
        logger.logLevel = .critical
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                if let port = channel.localAddress?.port { continuation.yield(port) }
            },
            logger: logger
        )
        // Stopped in order, not cancelled: a connection that arrives meanwhile would be forgotten,
        // and SwiftNIO stops the process for that.
        var configuration = ServiceGroupConfiguration(services: [application], logger: logger)
        configuration.maximumGracefulShutdownDuration = .seconds(2)
        let server = ServiceGroup(configuration: configuration)
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await server.run()
                return nil
            }
            group.addTask {
                for await port in ports {
                    let result = try await body("http://127.0.0.1:\(port)")
                    await server.triggerGracefulShutdown()
                    return result
                }
                throw CancellationError()
            }
            while let ended = try await group.next() {
                if let result = ended { return result }
            }
            throw CancellationError()
        }
    }
}
