import Logging
import Synchronization
import TransferModel
import TransferStore

/// A log of when the store goes away and when it is back, once each, and of what in it cannot be
/// read.
final class OutageLog: Sendable {
    private let isAway = Mutex(false)
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Whether the last claim or failure showed that the store cannot be reached.
    var isStoreAway: Bool { isAway.withLock { $0 } }

    func succeeded() {
        let wasAway = isAway.withLock { isAway in
            defer { isAway = false }
            return isAway
        }
        if wasAway { logger.info("webhook deliveries continue") }
    }

    /// Reports subscriptions that this release cannot read.
    func couldNotRead(_ subscriptions: Set<SubscriptionID>) {
        for subscription in subscriptions {
            logger.error(
                "a subscription cannot be read, and its deliveries wait",
                metadata: ["subscription": "\(subscription)"]
            )
        }
    }

    func failed(_ error: StoreError) {
        switch error {
        case .unavailable(let cause):
            let wasAway = isAway.withLock { isAway in
                defer { isAway = true }
                return isAway
            }
            guard !wasAway else { return }
            logger.warning(
                "webhook deliveries wait for the database",
                metadata: ["error": "\(cause)"]
            )
        case .defect(let cause):
            logger.error(
                "webhook delivery state was refused",
                metadata: ["error": "\(String(reflecting: cause))"]
            )
        case .idempotencyKeyInUse, .forceQuitInProgress, .quotaExceeded:
            logger.error("webhook delivery state was refused")
        }
    }
}
