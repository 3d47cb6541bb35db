package import Logging
import ServiceLifecycle
package import TransferModel
package import TransferStore

/// Keeps this instance's registration alive as long as anything works under its fences, and
/// removes it afterwards.
package struct LeaseKeeper: Service {
    private let store: TransferStore
    private let identity: WorkerIdentity
    private let configuration: EngineConfiguration
    private let leasesShards: Bool
    private let onDeclaredDead: @Sendable () -> Void
    private let logger: Logger

    /// Keeps the registration that `identity` holds, with which it `leasesShards` or not.
    ///
    /// `onDeclaredDead` drops what was done under the old registration; what it forgets is refused
    /// by the fences.
    package init(
        store: TransferStore,
        identity: WorkerIdentity,
        configuration: EngineConfiguration,
        leasesShards: Bool,
        logger: Logger,
        onDeclaredDead: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.identity = identity
        self.configuration = configuration
        self.leasesShards = leasesShards
        self.logger = logger
        self.onDeclaredDead = onDeclaredDead
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown { await beat() }
        do throws(StoreError) {
            try await store.retireWorker(incarnation: identity.incarnation)
        } catch {
            // Others find it silent and do the same.
            logger.warning("worker not retired", metadata: ["error": "\(error)"])
        }
    }

    private func beat() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await beatOnce()
            } catch {
                logger.debug("no heartbeat", metadata: ["error": "\(error)"])
            }
            do { try await Task.sleep(for: configuration.heartbeatInterval.jittered) } catch {
                return
            }
        }
    }

    /// A worker that was declared dead begins a new life.
    private func beatOnce() async throws(StoreError) {
        // Counted from before the database is asked, so that the lease ends later than trust in it.
        let trustedUntil =
            ContinuousClock.now + configuration.lease - EngineConfiguration.leaseMargin
        guard try await !store.heartbeat(incarnation: identity.incarnation) else {
            identity.trust(until: trustedUntil)
            return
        }
        logger.warning("this worker was declared dead and registers anew")
        onDeclaredDead()
        identity.adopt(
            incarnation: try await store.registerWorker(
                name: configuration.workerName,
                leasesShards: leasesShards
            )
        )
        identity.trust(until: trustedUntil)
    }
}
