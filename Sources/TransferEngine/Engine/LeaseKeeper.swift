package import Logging
import PollLoop
import ServiceLifecycle
package import TransferModel
package import TransferStore

/// The service that keeps this instance's registration alive as long as anything works under its
/// fences, and removes it afterwards.
///
/// Running attempts are closed at the first sign that others may take over their tasks: the process
/// has stood still for so long that it may have been declared dead, or it was declared dead. A
/// database that does not answer is no such sign, for then nobody can take over.
package struct LeaseKeeper: Service {
    private let workers: WorkerStore
    private let pulse: WorkerStore
    private let identity: WorkerIdentity
    private let configuration: EngineConfiguration
    private let leasesShards: Bool
    private let instanceLock: String?
    private let standstill: StandstillWatch
    private let onLost: @Sendable () -> Void
    private let logger: Logger

    /// Creates a service that keeps the registration `identity` holds, made with the same
    /// `leasesShards` and `instanceLock`.
    ///
    /// `pulse` has a connection of its own for heartbeats, which is given up within the lease when
    /// it is silent; nil stands for that of `workers`. `onLost` closes what was started before;
    /// what it misses is refused by the fences.
    package init(
        workers: WorkerStore,
        pulse: WorkerStore? = nil,
        identity: WorkerIdentity,
        configuration: EngineConfiguration,
        leasesShards: Bool,
        instanceLock: String? = nil,
        logger: Logger,
        onLost: @escaping @Sendable () -> Void
    ) {
        self.workers = workers
        self.pulse = pulse ?? workers
        self.identity = identity
        self.configuration = configuration
        self.leasesShards = leasesShards
        self.instanceLock = instanceLock
        self.logger = logger
        self.onLost = onLost
        standstill = StandstillWatch(limit: configuration.trustDuration)
    }

    /// Sends heartbeats until the group shuts down gracefully, or until cancelled, and then retires
    /// the worker.
    package func run() async throws {
        // Nothing looked before this point.
        _ = standstill.look()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { loops in
                loops.addTask { await beat() }
                loops.addTask { await watch() }
            }
        }
        do throws(StoreError) {
            try await workers.retireWorker(incarnation: identity.incarnation)
        } catch {
            // Others find it silent and retire it.
            logger.warning("worker not retired", metadata: ["error": "\(error)"])
        }
    }

    private func beat() async {
        var isRefused = false
        while !Task.isCancelled {
            var interval = configuration.heartbeatInterval
            do throws(StoreError) {
                try await beatOnce()
                if isRefused { logger.notice("heartbeats are recorded again") }
                isRefused = false
            } catch {
                // Others tell that the database is away.
                let isNews = !error.isUnavailable && !isRefused
                isRefused = isRefused || isNews
                logger.log(
                    level: isNews ? .error : .debug,
                    "heartbeat failed",
                    metadata: ["error": "\(isNews ? String(reflecting: error) : "\(error)")"]
                )
                // Thus the heartbeat arrives as soon as the database is back, long before others
                // may rescue.
                interval = configuration.heartbeatRetryInterval
            }
            do { try await Task.sleep(for: interval.jittered) } catch { return }
        }
    }

    /// Sends one heartbeat; a worker that was declared dead registers again.
    private func beatOnce() async throws(StoreError) {
        // Done before a new heartbeat makes the worker trust its claims again.
        heedStandstill()
        // Counted from before the database is asked, so that the lease outlasts the trust in it.
        let trustedUntil = ContinuousClock.now + configuration.trustDuration
        let isAlive = try await pulse.heartbeat(
            incarnation: identity.incarnation,
            lease: configuration.lease
        )
        guard !isAlive else {
            identity.trust(until: trustedUntil)
            return
        }
        logger.warning("worker was declared dead, registering again")
        onLost()
        identity.adopt(
            incarnation: try await workers.registerWorker(
                name: configuration.workerName,
                leasesShards: leasesShards,
                instanceLock: instanceLock
            )
        )
        identity.trust(until: trustedUntil)
    }

    private func watch() async {
        while !Task.isCancelled {
            heedStandstill()
            do { try await Task.sleep(for: configuration.trustDuration / 16) } catch { return }
        }
    }

    private func heedStandstill() {
        guard let gap = standstill.look() else { return }
        logger.warning(
            "process stood still, its attempts were closed",
            metadata: ["seconds": "\(gap / .seconds(1))"]
        )
        onLost()
    }
}
