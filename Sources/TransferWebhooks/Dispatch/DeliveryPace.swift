/// Decides when the next message of a subscription with a rate limit may be sent.
///
/// Messages are spread evenly rather than sent in bursts. A pure value: time is an argument.
struct DeliveryPace {
    /// When a message may be sent that asks now.
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
