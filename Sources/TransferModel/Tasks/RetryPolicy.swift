/// A policy that decides whether and when a failed attempt is followed by another.
///
/// It uses exponential backoff with full jitter on the upper half, so that tasks that failed
/// together do not return together; what a server asks for with `Retry-After` is lengthened at
/// random for the same reason. A pure value: chance is an argument.
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
    /// `chance`, uniform in 0..<1, places the wait in its range. A wait that would outlast
    /// `remaining`, the rest of the task's time, is not started.
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
        let wait = delay(
            afterAttempt: number,
            asked: failure.retryAfter ?? .zero,
            remaining: remaining,
            chance: chance
        )
        return wait < remaining ? .retry(after: wait) : .giveUp
    }

    /// Returns the wait after attempt `number`, counted from 1, when the server asked for `asked`,
    /// which is zero if it did not.
    ///
    /// It is never less than was asked for, unless that is more than the bound. A server that has
    /// too many requests gives all of them the same wait: at random up to as much again is added,
    /// and more after many attempts, as far as the bound and `remaining` leave room.
    package func delay(
        afterAttempt number: Int,
        asked: Duration,
        remaining: Duration,
        chance: Double
    ) -> Duration {
        let asked = min(asked, delayMax)
        let room = max(.zero, min(delayMax, remaining) - asked)
        let spread = min(max(asked, backoffMax(afterAttempt: number)), room)
        return max(backoff(afterAttempt: number, chance: chance), asked + spread * chance)
    }

    /// Returns the wait after attempt `number`, counted from 1, whatever its failure.
    package func backoff(afterAttempt number: Int, chance: Double) -> Duration {
        backoffMax(afterAttempt: number) * (0.5 + chance / 2)
    }

    private func backoffMax(afterAttempt number: Int) -> Duration {
        let doublings = min(max(0, number - 1), 30)
        return min(delayBase * (1 << doublings), delayMax)
    }
}
