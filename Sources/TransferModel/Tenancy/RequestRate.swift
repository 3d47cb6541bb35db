/// How many requests a tenant may still send: as many at once as in a second, and then as they are
/// refilled.
package struct RequestRate: Sendable {
    /// The permitted limits, in requests per second.
    package static let range = 1...1_000_000

    /// What a tenant is told with each answer.
    package struct State: Equatable, Sendable {
        /// The limit in requests per second.
        package let limit: Int
        /// The number of requests that may still be sent at once.
        package let remaining: Int
        /// Whether this request was one too many.
        package let isExceeded: Bool
    }

    /// The requests that may be sent, in billionths.
    private var tokens: Int64
    private var instant: ContinuousClock.Instant
    private static let unit: Int64 = 1_000_000_000

    /// Creates the rate of a tenant that has sent nothing in the last second.
    package init(limit: Int, at now: ContinuousClock.Instant) {
        tokens = Int64(limit) * Self.unit
        instant = now
    }

    /// Takes a request, if there is one left.
    package mutating func take(limit: Int, at now: ContinuousClock.Instant) -> State {
        let capacity = Int64(limit) * Self.unit
        // What a second does not hold is lost; more than a second would not fit the number either.
        let elapsed = min(max(now - instant, .zero), .seconds(1)) / .nanoseconds(1)
        tokens = min(capacity, tokens + Int64(elapsed) * Int64(limit))
        instant = now
        let isExceeded = tokens < Self.unit
        if !isExceeded { tokens -= Self.unit }
        return State(limit: limit, remaining: Int(tokens / Self.unit), isExceeded: isExceeded)
    }

    /// Whether the tenant has sent nothing for so long that it may be forgotten.
    package func isIdle(at now: ContinuousClock.Instant) -> Bool { now - instant >= .seconds(1) }
}
