/// The rate of a subscription with a rate limit, which decides when its next message may be sent.
///
/// Messages are spread evenly rather than sent in bursts. A pure value: time is an argument.
struct DeliveryRate {
    /// The time at which a message that asks now may be sent.
    private(set) var next: ContinuousClock.Instant

    init(from now: ContinuousClock.Instant) { next = now }

    /// Takes the next place.
    ///
    /// - Returns: how long to wait for it.
    mutating func wait(messagesPerSecond: Int, at now: ContinuousClock.Instant) -> Duration {
        let place = max(next, now)
        next = place + .seconds(1) / messagesPerSecond
        return place - now
    }
}
