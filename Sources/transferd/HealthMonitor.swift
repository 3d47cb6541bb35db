import Logging
import ServiceLifecycle
import Synchronization
import TransferHTTP
import TransferModel
import TransferStore
import TransferWire

/// Knows whether the service can work, by asking the database all the time: health questions are
/// answered from memory, at once and at a constant cost, whatever is broken.
final class HealthMonitor: Service {
    /// Between two questions.
    private static let interval: Duration = .milliseconds(400)
    /// An answer counts for as long; a question that hangs makes the service not ready.
    private static let freshness: Duration = .milliseconds(1500)
    /// Between two tries to start a private cluster that was killed.
    private static let reviveInterval: Duration = .seconds(5)

    private struct State {
        var isDraining = false
        var lastAnswer: ContinuousClock.Instant?
        var workers: Int?
    }

    private let state = Mutex(State())
    private let store: TransferStore
    private let startedAt = ContinuousClock.now
    private let revive: @Sendable () async throws -> Void
    private let logger: Logger

    /// `revive` starts the database again if that is ours to do.
    init(
        store: TransferStore,
        logger: Logger,
        revive: @escaping @Sendable () async throws -> Void
    ) {
        self.store = store
        self.logger = logger
        self.revive = revive
    }

    var readiness: Readiness {
        state.withLock { state in
            if state.isDraining { return .notReady(reason: "shutting down") }
            return Self.isFresh(state) ? .ready : .notReady(reason: "database away")
        }
    }

    /// From now on the instance says that it is not ready.
    func drain() { state.withLock { $0.isDraining = true } }

    func report(
        version: String,
        libcurl: HealthDocument.Library,
        roles: Set<InstanceRole>,
        signals: SignalStatus
    ) -> HealthReport {
        state.withLock { state in
            let isDatabaseUp = Self.isFresh(state)
            return HealthReport(
                version: version,
                libcurl: libcurl,
                roles: roles,
                isDatabaseUp: isDatabaseUp,
                signals: signals,
                workers: isDatabaseUp ? state.workers : nil,
                uptime: .now - startedAt
            )
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.watch() }
    }

    private func watch() async {
        var revivedAt = ContinuousClock.now
        var isFailing = false
        while !Task.isCancelled {
            do {
                let workers = try await store.vitals().workers
                state.withLock { state in
                    state.lastAnswer = .now
                    state.workers = workers
                }
                if isFailing { logger.notice("the database answers again") }
                isFailing = false
            } catch {
                if Task.isCancelled { return }
                if !isFailing {
                    logger.warning("the database is away", metadata: ["error": "\(error)"])
                }
                isFailing = true
                if .now - revivedAt > Self.reviveInterval {
                    revivedAt = .now
                    await reviveDatabase()
                }
            }
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    private func reviveDatabase() async {
        do {
            try await revive()
        } catch {
            logger.error("database not started again", metadata: ["error": "\(error)"])
        }
    }

    private static func isFresh(_ state: State) -> Bool {
        state.lastAnswer.map { .now - $0 < freshness } ?? false
    }
}
