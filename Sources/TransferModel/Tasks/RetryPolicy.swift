/// A policy that decides whether and when a failed attempt is followed by another.
///
/// It uses exponential backoff with full jitter on the upper half, so that tasks that failed
/// together do not return together. A pure value: chance is an argument.
package struct RetryPolicy: Equatable, Sendable {
    /// The most attempts of one task, the first included.
    package var attemptsMax = attemptsMaxDefault
    /// The wait after the first failure; doubled after each further one.
    package var delayBase = delayBaseDefault
    /// The longest wait, also for a server's `Retry-After`.
    package var delayMax = delayMaxDefault

    /// The default of the maximum number of attempts.
    package static let attemptsMaxDefault = 5
    /// The default of the delay before the second attempt.
    package static let delayBaseDefault: Duration = .seconds(1)
    /// The default of the longest delay between two attempts.
    package static let delayMaxDefault: Duration = .seconds(3600)
    /// The longest wait for a resource that this machine is short of, so that a task continues soon
    /// after.
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

    /// A decision about what follows a failed attempt.
    package enum Decision: Equatable, Sendable {
        case retry(after: Duration)
        case giveUp
    }

    /// Returns the time that a task waits for a resource that this machine is short of.
    ///
    /// It grows with `elapsed`, the time that the task has been at work and waiting, because such
    /// attempts are not counted.
    package func delay(ofShortage elapsed: Duration, chance: Double) -> Duration {
        let ceiling = min(Self.shortageDelayMax, delayMax)
        return min(max(delayBase, elapsed / 2), ceiling) * (0.5 + chance / 2)
    }

    /// Returns what follows the failure of attempt `number`, counted from 1.
    ///
    /// `chance`, uniform in 0..<1, places the wait in the upper half of its range. A wait that
    /// would outlast `remaining`, the rest of the task's time, is not started.
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
