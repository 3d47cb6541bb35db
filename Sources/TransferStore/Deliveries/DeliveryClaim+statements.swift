import Postgres
import TransferModel

/// Parts of the statements that a claim's holder runs.
extension DeliveryClaim {
    /// Whether the subscription is as it was claimed, and was not paused by its receiver.
    ///
    /// Whoever disables a subscription increases its revision. The pause of one with too many
    /// failures does not count: it may have begun with this claim, whose message is the probe.
    func isCurrent(_ health: DeliveryHealth) -> Query {
        """
        (EXISTS (
            SELECT 1 FROM subscription b
            WHERE b.id = \(subscription.uuid) AND \(SubscriptionStore.version) = \(version)
        ) AND NOT EXISTS (
            SELECT 1 FROM failure_streak f
            WHERE f.subscription_id = \(subscription.uuid)
                AND f.failures < \(Int32(health.failuresMax))
                AND f.paused_until > clock_timestamp()
        ))
        """
    }

    /// Returns the assignment to `launches_after` when the cursor moves to `sequence`, or stays for
    /// nil: launches that it passes without asking for them have reached nobody.
    func keepLaunches(through sequence: Int64?) -> Query {
        let areAskedFor = filter?.contains(.backgroundTaskLaunch) ?? true
        return """
            launches_after = CASE WHEN launches_after IS NOT NULL AND \(!areAskedFor)
                THEN coalesce(\(sequence), launches_after) ELSE launches_after END
            """
    }
}
