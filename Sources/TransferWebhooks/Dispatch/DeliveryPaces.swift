import Synchronization
import TransferModel

/// The paces of subscriptions with a rate limit that were sent something lately, for the first time
/// or again.
final class DeliveryPaces: Sendable {
    private let paces = Mutex<[SubscriptionID: DeliveryPace]>([:])

    /// Takes the next place of a subscription.
    ///
    /// - Returns: how long to wait for it.
    func wait(
        of subscription: SubscriptionID,
        messagesPerSecond: Int,
        at now: ContinuousClock.Instant
    ) -> Duration {
        paces.withLock { paces in
            paces[subscription, default: DeliveryPace(from: now)]
                .wait(messagesPerSecond: messagesPerSecond, at: now)
        }
    }

    /// Forgets the paces that hold nothing up at `now`.
    func forgetPassed(at now: ContinuousClock.Instant) {
        paces.withLock { paces in
            if !paces.isEmpty { paces = paces.filter { $0.value.next > now } }
        }
    }
}
