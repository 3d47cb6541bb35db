import Synchronization
import TransferModel

/// The subscriptions whose messages have failed here in the last moments.
final class RecentFailures: Sendable {
    private let last = Mutex<[SubscriptionID: ContinuousClock.Instant]>([:])

    /// Records that the failure of a message has been stored at `now`.
    func add(_ subscription: SubscriptionID, at now: ContinuousClock.Instant) {
        last.withLock { $0[subscription] = now }
    }

    /// Returns whether a message of a subscription has failed since `time`.
    func haveAny(of subscription: SubscriptionID, since time: ContinuousClock.Instant) -> Bool {
        last.withLock { last in last[subscription].map { $0 >= time } ?? false }
    }

    /// Forgets the failures before `time`.
    func forget(before time: ContinuousClock.Instant) {
        last.withLock { last in
            if !last.isEmpty { last = last.filter { $0.value >= time } }
        }
    }
}
