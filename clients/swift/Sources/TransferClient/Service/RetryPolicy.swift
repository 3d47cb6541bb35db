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
        return pause(asked: error.retryAfter, attempts: attempts, fraction: fraction)
    }

    /// Returns the pause that the service asks for, or else one that grows with the number of
    /// failures.
    func pause(asked: Duration?, attempts: Int, fraction: Double) -> Duration {
        if let asked { return min(asked, delayMax) }
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
        case .problem(.quotaExceeded), .problem(.tooManyPendingTaskRequests):
            // There is room once something else has ended, which may be never.
            return false
        default: break
        }
        guard isRepeatable, let status = error.status else { return false }
        // A code that is known says by itself whether that helps.
        return isPassing(status) || error.retryAfter != nil && error.problem?.code == nil
    }

    /// Whether a response with that status may be another one later, whoever sent it: a proxy has
    /// forms and statuses of its own.
    private static func isPassing(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429: true
        // What is not implemented, does not fit on a disk or needs a login stays so.
        case 501, 505, 506, 507, 508, 510, 511: false
        default: (500...599).contains(status)
        }
    }
}
