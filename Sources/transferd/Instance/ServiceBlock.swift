import Logging
import ServiceLifecycle

/// Services that are started and stopped together; the last one stops first.
final class ServiceBlock: Sendable {
    private let name: String
    private let group: ServiceGroup
    private let run: Task<Void, any Error>
    private let logger: Logger

    /// The longest time that a cancelled block gets to notice it.
    private static let noticeMax: Duration = .milliseconds(250)

    /// Starts the services.
    ///
    /// `name` names in the log what was not stopped in time; `onEnd` is called once all services
    /// have ended, with the error that one of them threw.
    init(
        _ name: String,
        _ services: [any Service],
        logger: Logger,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.name = name
        self.logger = logger
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // By default the log would name each service by all that is in it, even settings.
                services: services.map {
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: $0,
                        serviceName: "\(type(of: $0))"
                    )
                },
                logger: logger
            )
        )
        self.group = group
        // Not structured: if it hangs beyond its time, the process ends without it.
        run = Task {
            do {
                try await group.run()
                onEnd(nil)
            } catch {
                onEnd(error)
                throw error
            }
        }
    }

    /// Asks the services to end, and cancels those that have not ended by `deadline`.
    ///
    /// Services that ignore even that are abandoned.
    ///
    /// - Returns: whether all have ended.
    func stop(by deadline: ContinuousClock.Instant) async -> Bool {
        await group.triggerGracefulShutdown()
        let run = run
        if await happens(by: deadline, { _ = await run.result }) { return true }
        logger.warning("not stopped in time and dropped", metadata: ["part": "\(name)"])
        run.cancel()
        return await happens(by: .now + Self.noticeMax) { _ = await run.result }
    }
}

/// Returns whether `body` ends by `deadline`; if not, it is abandoned with the ending process.
func happens(
    by deadline: ContinuousClock.Instant,
    _ body: @escaping @Sendable () async -> Void
) async -> Bool {
    let (answers, answer) = AsyncStream<Bool>.makeStream()
    // Not structured: a structured task would wait for `body`.
    let work = Task {
        await body()
        answer.yield(true)
    }
    let clock = Task {
        try await Task.sleep(until: deadline)
        answer.yield(false)
    }
    defer {
        work.cancel()
        clock.cancel()
    }
    return await answers.first { _ in true } ?? false
}
