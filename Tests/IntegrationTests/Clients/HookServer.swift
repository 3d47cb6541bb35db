import Hummingbird
import Logging

/// A server of Hummingbird in this process, with the routes of a test.
struct HookServer {
    let port: Int
    private let running: Task<Void, any Error>

    init(_ router: Router<BasicRequestContext>) async throws {
        let (started, start) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "hooks")
        logger.logLevel = .critical
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: {
                start.yield($0.localAddress?.port ?? 0)
                start.finish()
            },
            logger: logger
        )
        // It serves until the end of the test.
        running = Task { try await application.run() }
        var port = 0
        for await number in started { port = number }
        self.port = port
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    func stop() { running.cancel() }
}
