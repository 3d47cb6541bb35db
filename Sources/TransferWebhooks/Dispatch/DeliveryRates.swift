import Synchronization
import TransferModel

/// The rates of subscriptions with a rate limit that were sent something lately, for the first time
/// or again.
final class DeliveryRates: Sendable {
    private let rates = Mutex<[SubscriptionID: DeliveryRate]>([:])

    /// Takes the next place of a subscription.
    ///
    /// - Returns: how long to wait for it.
    func wait(
        of subscription: SubscriptionID,
        messagesPerSecond: Int,
        at now: ContinuousClock.Instant
    ) -> Duration {
        rates.withLock { rates in
            rates[subscription, default: DeliveryRate(from: now)]
                .wait(messagesPerSecond: messagesPerSecond, at: now)
        }
    }

    /// Forgets the rates that hold nothing up at `now`.
    func forgetPassed(at now: ContinuousClock.Instant) {
        rates.withLock { rates in
            if !rates.isEmpty { rates = rates.filter { $0.value.next > now } }
        }
    }
}
