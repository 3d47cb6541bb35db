/// How much the dispatcher does at once, and how long it waits for what.
package struct DeliveryBounds: Sendable {
    /// Pairs of subscription and session that are being delivered.
    ///
    /// One tenant may have so many; an eighth more is there for others. Of them, receivers that were
    /// slow have a quarter, and three quarters together with those that are not known yet.
    package var pairsMax = 128
    /// Pairs claimed at once.
    package var claimMax = 64
    /// What a receiver takes at most for a message to count as quick.
    package var quickMax: Duration = .seconds(1)
    /// Subscriptions of which it is remembered how quick they are; of others it is found out anew.
    package var pacesMax = 10_000
    /// Of them, pairs of one subscription that does not say otherwise.
    package var perSubscriptionMax = 4
    /// Claimed pairs of one subscription that wait for one of its slots.
    package var waitingMax = 256
    /// Claimed pairs of all subscriptions of a tenant that wait.
    package var waitingTotalMax = 4096
    /// Events read at once for a pair; each may hold a client string of 64 KiB.
    package var pageMax = 16
    /// Bytes of an answer that are read; nothing of them is kept.
    package var answerBytesMax = 16 * 1024
    /// How long one try may take as a whole; Standard Webhooks 1.0 says 15 to 30 seconds.
    package var messageTimeout: Duration = .seconds(15)
    /// How long a claim lasts after it was made or last renewed by a delivery.
    package var lease: Duration = .seconds(60)
    /// How much is delivered in a row before its record is written; a crash before that repeats it.
    package var recordInterval: Duration = .milliseconds(100)
    /// How often the database is asked for due pairs without being told of any; jittered.
    package var pollInterval: Duration = .seconds(1)
    /// How long messages on their way may still take when the dispatcher is told to stop.
    package var shutdownGrace: Duration = .seconds(5)

    package init() {}

    /// How long before its end a lease is no longer trusted to cover another try.
    var leaseMargin: Duration { messageTimeout * 2 }
}
