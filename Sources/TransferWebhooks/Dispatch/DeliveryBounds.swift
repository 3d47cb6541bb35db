/// The bounds on what the dispatcher does at once and on how long it waits.
package struct DeliveryBounds: Sendable {
    /// The most pairs of subscription and session that are delivered at once.
    ///
    /// One tenant may have as many; an eighth more is there for others. Slow receivers have a
    /// quarter of the slots; slow and unknown ones together have three quarters.
    package var pairsMax = 128
    /// The most pairs beside these whose receivers were unknown and have turned out to be slow,
    /// until their receivers have taken a message or they end; an eighth more is there for others.
    ///
    /// Each of all these pairs may keep a page of events in memory, with 1 MiB of client strings.
    package var overdueMax = 128
    /// The most pairs claimed at once.
    package var claimMax = 64
    /// The time within which a receiver has to take a message to count as quick.
    package var quickMax: Duration = .seconds(1)
    /// The most subscriptions whose pace is remembered; that of others is measured again.
    package var pacesMax = 10_000
    /// The pairs of one subscription delivered at once, unless the subscription says otherwise.
    package var perSubscriptionMax = 4
    /// The most claimed pairs of one subscription that wait for one of its slots.
    package var waitingMax = 256
    /// The most claimed pairs of all subscriptions of a tenant that wait.
    package var waitingTotalMax = 4096
    /// The time after which a pair gives its slot to another that waits for it.
    package var turnMax: Duration = .seconds(1)
    /// The messages after which a pair gives its slot to another that waits for it.
    package var turnMessagesMax = 256
    /// The most postponed pairs of one subscription that are remembered, and so may be claimed
    /// before their time.
    package var postponedMax = 1024
    /// The most postponed pairs of all subscriptions of a tenant that are remembered.
    package var postponedTotalMax = 4096
    /// The wait of a message that is not sent because too many are on their way, or the service is
    /// short of descriptors or memory; jittered.
    package var refusedWait: Duration = .seconds(2)
    /// The least time until a pair that found no place is claimed again; it doubles while nothing
    /// of its subscription finds one.
    package var postponementMin: Duration = .seconds(1)
    /// The most time until a pair that found no place is claimed again.
    package var postponementMax: Duration = .seconds(1200)
    /// The most events that are read at once for a pair which has just got its slot: it may have to
    /// leave it before it has sent them.
    package var pageMax = 16
    /// The most events that are read at once for a pair which has sent such a page, or sends many
    /// events in one message.
    package var furtherPageMax = 64
    /// The bytes of client strings after which a page ends, each of which may have 64 KiB.
    package var pageBytesMax = 1 << 20
    /// The most bytes of an answer that are read; only the first 1024 of them are kept.
    package var answerBytesMax = 16 * 1024
    /// The longest time for one try as a whole; Standard Webhooks 1.0 says 15 to 30 seconds.
    package var messageTimeout: Duration = .seconds(15)
    /// The time that a claim lasts after it was made or last renewed by a delivery.
    package var lease: Duration = .seconds(60)
    /// The time of deliveries in a row before their record is written; a crash before that repeats
    /// them.
    package var recordInterval: Duration = .milliseconds(100)
    /// The interval at which the database is asked for due pairs without a signal; jittered.
    package var pollInterval: Duration = .seconds(1)
    /// The time that messages in flight may still take when the dispatcher is told to stop.
    package var shutdownGrace: Duration = .seconds(5)

    package init() {}

    /// The time before its end from which a lease is no longer trusted to cover another try.
    var leaseMargin: Duration { messageTimeout * 2 }
}
