/// Decides whether and when a failed attempt is followed by another.
///
/// Exponential backoff with full jitter on its upper half, so that tasks which failed together do
/// not return together. A pure value: chance is an argument.
package struct RetryPolicy: Equatable, Sendable {
    /// Attempts of one task, the first included.
    package var attemptsMax = attemptsMaxDefault
    /// The wait after the first failure; doubled after each further one.
    package var delayBase = delayBaseDefault
    /// The longest wait, also for a server's `Retry-After`.
    package var delayMax = delayMaxDefault

    package static let attemptsMaxDefault = 5
    package static let delayBaseDefault: Duration = .seconds(1)
    package static let delayMaxDefault: Duration = .seconds(3600)
    /// The longest wait for what this machine is short of, so that a task goes on soon after.
    package static let shortageDelayMax: Duration = .seconds(60)

    package init(
        attemptsMax: Int = attemptsMaxDefault,
        delayBase: Duration = delayBaseDefault,
        delayMax: Duration = delayMaxDefault
    ) {
        self.attemptsMax = attemptsMax
        self.delayBase = delayBase
        self.delayMax = delayMax
    }

    /// What follows a failed attempt.
    package enum Decision: Equatable, Sendable {
        case retry(after: Duration)
        case giveUp
    }

    /// How long a task waits for what this machine is short of: the longer, the longer it has been at
    /// work and waiting, `elapsed`, for such attempts are not counted.
    package func delay(ofShortage elapsed: Duration, chance: Double) -> Duration {
        let ceiling = min(Self.shortageDelayMax, delayMax)
        return min(max(delayBase, elapsed / 2), ceiling) * (0.5 + chance / 2)
    }

    /// What follows the failure of attempt `number`, counted from 1.
    ///
    /// `chance`, uniform in 0..<1, places the wait in the upper half of its range; a wait that would
    /// outlast `remaining`, what is left of the task's time, is not begun.
    package func decision(
        after failure: TransferFailure,
        attempt number: Int,
        remaining: Duration = .seconds(Int64.max),
        chance: Double
    ) -> Decision {
        guard failure.isRetryable, number < attemptsMax else { return .giveUp }
        let doublings = min(max(0, number - 1), 30)
        let ceiling = min(delayBase * (1 << doublings), delayMax)
        let backoff = ceiling * (0.5 + chance / 2)
        // Never earlier than the server asked for, unless it asked for more than the bound.
        let delay = max(backoff, min(failure.retryAfter ?? .zero, delayMax))
        return delay < remaining ? .retry(after: delay) : .giveUp
    }
}
