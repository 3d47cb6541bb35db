import Logging
import Synchronization
import TransferMetrics

/// The log of tries that failed, and of those that were put off.
///
/// Each is in its subscription's log of deliveries, too. When many receivers are away there can be
/// any number: so many are written as a ``LineBudget`` has, and the others are counted.
final class DeliveryFailureLog: Sendable {
    private let budget = Mutex(LineBudget())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    func add(
        _ message: Logger.Message,
        _ metadata: Logger.Metadata,
        at now: ContinuousClock.Instant = .now
    ) {
        guard let unwritten = budget.withLock({ $0.take(at: now) }) else { return }
        var metadata = metadata
        if unwritten > 0 { metadata["unwritten_before"] = "\(unwritten)" }
        logger.notice(message, metadata: metadata)
    }
}
