import TransferWire

/// Which calls are repeated, how often, and after which pauses.
public struct RetryPolicy: Sendable {
    /// The most attempts of one call, including the first.
    public var attemptsMax: Int
    /// The longest pause after the first failure; it doubles with each further one.
    public var delayBase: Duration
    /// The longest pause, also when the service asks for a longer one.
    public var delayMax: Duration

    /// Creates a policy; by default six attempts within about ten seconds.
    public init(
        attemptsMax: Int = 6,
        delayBase: Duration = .milliseconds(250),
        delayMax: Duration = .seconds(30)
    ) {
        precondition(attemptsMax > 0, "a call has at least one attempt")
        self.attemptsMax = attemptsMax
        self.delayBase = delayBase
        self.delayMax = delayMax
    }

    /// Returns the pause before the next attempt, after `attempts` of them; nil when the call has
    /// failed.
    ///
    /// A request that is repeatable may reach the service twice. `fraction` is a random number
    /// from 0 to 1, which spreads clients that fail together.
    func delay(
        after error: TransferError,
        attempts: Int,
        isRepeatable: Bool,
        fraction: Double
    ) -> Duration? {
        guard attempts < attemptsMax, Self.isCurable(error, isRepeatable: isRepeatable) else {
            return nil
        }
        if let asked = error.retryAfter { return min(asked, delayMax) }
        return growing(attempts: attempts, fraction: fraction)
    }

    /// Returns a pause that grows with the number of failures and is random in its second half.
    func growing(attempts: Int, fraction: Double) -> Duration {
        var longest = min(delayBase, delayMax)
        var doublings = attempts - 1
        // Step by step: the base may be what a service asks for, and too long to be multiplied.
        while doublings > 0, longest < delayMax {
            longest = min(longest * 2, delayMax)
            doublings -= 1
        }
        return longest * (0.5 + fraction / 2)
    }

    /// Whether the same request may succeed later.
    static func isCurable(_ error: TransferError, isRepeatable: Bool) -> Bool {
        switch error.code {
        case .unreachable, .timedOut: return isRepeatable || error.isUnsent
        case .problem(.tooManyRequests), .problem(.tooManyReaders),
            .problem(.idempotencyKeyInUse), .problem(.taskInUse), .problem(.bodyInUse):
            // The service did nothing, so that any request may be repeated.
            return true
        default: break
        }
        // 502 and 504 come from a proxy, in whatever form it has.
        return isRepeatable && [502, 503, 504].contains(error.status ?? 0)
    }
}
