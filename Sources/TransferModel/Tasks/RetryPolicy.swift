/// A policy that decides whether and when a failed attempt is followed by another.
///
/// It uses exponential backoff with full jitter on the upper half, so that tasks that failed
/// together do not return together. A pure value: chance is an argument.
package struct RetryPolicy: Equatable, Sendable {
    /// The maximum number of attempts of one task, the first included.
    package var attemptsMax = attemptsMaxDefault
    /// The maximum number of attempts of a task in a background session whose failures pass by
    /// themselves, see ``TransferFailure/passes``: the task's time ends them before.
    package var attemptsInBackgroundMax = attemptsInBackgroundMaxDefault
    /// The wait after the first failure; doubled after each further one.
    package var delayBase = delayBaseDefault
    /// The longest wait, also for a server's `Retry-After`.
    package var delayMax = delayMaxDefault

    /// The default of the maximum number of attempts.
    package static let attemptsMaxDefault = 5
    /// The default of ``attemptsInBackgroundMax``: with the default delays some 240 attempts fit
    /// into seven days.
    package static let attemptsInBackgroundMaxDefault = 1000
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

    /// Returns the time that a task waits for what is no fault of its own: a resource that this
    /// machine is short of, or the end of a pause.
    ///
    /// It grows with `elapsed`, the time that the task has been at work and waiting, because such
    /// attempts are not counted.
    package func delay(ofShortage elapsed: Duration, chance: Double) -> Duration {
        let ceiling = min(Self.shortageDelayMax, delayMax)
        return min(max(delayBase, elapsed / 2), ceiling) * (0.5 + chance / 2)
    }

    /// Returns what follows the failure of attempt `number`, counted from 1, of a task in a session
    /// of the kind.
    ///
    /// `chance`, uniform in 0..<1, places the wait in the upper half of its range. A wait that
    /// would outlast `remaining`, the rest of the task's time, is not started.
    package func decision(
        after failure: TransferFailure,
        attempt number: Int,
        in kind: Session.Kind = .ephemeral,
        remaining: Duration = .seconds(Int64.max),
        chance: Double
    ) -> Decision {
        let isLasting = kind == .background && failure.passes
        let numberMax = isLasting ? max(attemptsMax, attemptsInBackgroundMax) : attemptsMax
        guard failure.isRetryable, number < numberMax else { return .giveUp }
        // Never earlier than the server asked for, unless it asked for more than the bound.
        let delay = max(
            backoff(afterAttempt: number, chance: chance),
            min(failure.retryAfter ?? .zero, delayMax)
        )
        return delay < remaining ? .retry(after: delay) : .giveUp
    }

    /// Returns the wait after attempt `number`, counted from 1, whatever its failure.
    package func backoff(afterAttempt number: Int, chance: Double) -> Duration {
        let doublings = min(max(0, number - 1), 30)
        return min(delayBase * (1 << doublings), delayMax) * (0.5 + chance / 2)
    }
}
