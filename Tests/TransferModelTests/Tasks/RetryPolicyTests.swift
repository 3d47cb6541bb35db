import Testing
import TransferModel

@Suite struct RetryPolicyTests {
    private static let transient = TransferFailure(.connectionLost, "cut")

    private static func asking(_ retryAfter: Duration) -> TransferFailure {
        TransferFailure(.httpStatus, "busy", httpStatus: 503, retryAfter: retryAfter)
    }

    /// The arguments are the attempt, the chance and the wait that follows with the defaults: base
    /// 1 s, bound 1 h.
    @Test(arguments: [
        (1, 0.0, Duration.milliseconds(500)), (1, 0.5, .milliseconds(750)),
        (2, 0.0, .seconds(1)), (2, 1.0, .seconds(2)),
        (3, 0.0, .seconds(2)), (4, 0.0, .seconds(4)), (4, 0.5, .seconds(6)),
    ])
    func doublesTheWaitAndPlacesItInTheUpperHalf(
        attempt: Int,
        chance: Double,
        wait: Duration
    ) {
        let decision = RetryPolicy().decision(
            after: Self.transient,
            attempt: attempt,
            chance: chance
        )
        #expect(decision == .retry(after: wait))
    }

    @Test func givesUpAfterTheLastAttempt() {
        let policy = RetryPolicy()
        #expect(policy.decision(after: Self.transient, attempt: 5, chance: 0) == .giveUp)
        #expect(policy.decision(after: Self.transient, attempt: 6, chance: 0) == .giveUp)
        let once = RetryPolicy(attemptsMax: 1)
        #expect(once.decision(after: Self.transient, attempt: 1, chance: 0) == .giveUp)
    }

    @Test func outlastsAnOutageInBackground() {
        let policy = RetryPolicy()
        func decision(_ failure: TransferFailure, _ attempt: Int) -> RetryPolicy.Decision {
            policy.decision(after: failure, attempt: attempt, in: .background, chance: 0)
        }
        #expect(decision(Self.transient, 999) == .retry(after: .seconds(1800)))
        #expect(decision(Self.transient, 1000) == .giveUp)
        #expect(decision(Self.asking(.zero), 500) != .giveUp)
        let wrong = TransferFailure(.checksumMismatch, "wrong")
        #expect(decision(wrong, 4) != .giveUp)
        #expect(decision(wrong, 5) == .giveUp)
        var options = TransferOptions()
        options.attemptsMax = 2
        let limited = policy.overridden(by: options)
        #expect(
            limited.decision(after: Self.transient, attempt: 2, in: .background, chance: 0)
                == .giveUp
        )
    }

    @Test func aTaskInBackgroundWaitsForItsHostUnlessItsAttemptsAreLimited() {
        var options = TransferOptions()
        #expect(options.withDefaults(of: .background).waitsForConnectivity == true)
        #expect(options.withDefaults(of: .ephemeral).waitsForConnectivity == nil)
        options.attemptsMax = 3
        #expect(options.withDefaults(of: .background).waitsForConnectivity == nil)
        options = TransferOptions()
        options.waitsForConnectivity = false
        #expect(options.withDefaults(of: .background).waitsForConnectivity == false)
    }

    @Test func givesUpAtOnceOnWhatNoRepetitionChanges() {
        let failure = TransferFailure(.httpStatus, "gone", httpStatus: 404)
        #expect(RetryPolicy().decision(after: failure, attempt: 1, chance: 0) == .giveUp)
    }

    @Test func neverWaitsLongerThanTheBoundHoweverManyAttempts() {
        let policy = RetryPolicy(attemptsMax: .max, delayMax: .seconds(60))
        for attempt in [7, 31, 32, 63, 64, 65, 1_000_000] {
            let decision = policy.decision(after: Self.transient, attempt: attempt, chance: 1)
            #expect(decision == .retry(after: .seconds(60)))
        }
    }

    @Test(arguments: [
        (Duration.zero, 0.0, Duration.milliseconds(500)), (.seconds(40), 1.0, .seconds(20)),
        (.seconds(7200), 0.0, .seconds(30)), (.seconds(7200), 1.0, .seconds(60)),
    ])
    func waitsAtMostAMinuteForWhatThisMachineIsShortOf(
        elapsed: Duration,
        chance: Double,
        wait: Duration
    ) {
        #expect(RetryPolicy().delay(ofShortage: elapsed, chance: chance) == wait)
    }

    @Test func waitsAsLongAsTheServerAskedFor() {
        let decision = RetryPolicy().decision(
            after: Self.asking(.seconds(90)),
            attempt: 1,
            chance: 0
        )
        #expect(decision == .retry(after: .seconds(90)))
    }

    /// Otherwise all that were refused together would be refused together again.
    ///
    /// The arguments are the attempt, what the server asked for, the chance and the wait.
    @Test(arguments: [
        (1, 10, 0.0, Duration.seconds(10)), (1, 10, 0.5, .seconds(15)), (4, 10, 0.5, .seconds(15)),
        (6, 10, 0.5, .seconds(26)), (1, 0, 0.5, .milliseconds(750)),
        // As much as the bound leaves.
        (1, 3000, 0.5, .seconds(3300)), (100, 3000, 0.0, .seconds(3000)),
    ])
    func tasksThatAServerHasRefusedReturnApartAndNeverEarlierThanItAskedFor(
        attempt: Int,
        asked: Int,
        chance: Double,
        wait: Duration
    ) {
        let decision = RetryPolicy(attemptsMax: .max).decision(
            after: Self.asking(.seconds(asked)),
            attempt: attempt,
            chance: chance
        )
        #expect(decision == .retry(after: wait))
    }

    @Test func whatIsAddedToAWaitDoesNotOutlastTheTask() {
        let decision = RetryPolicy().decision(
            after: Self.asking(.seconds(90)),
            attempt: 1,
            remaining: .seconds(100),
            chance: 0.5
        )
        #expect(decision == .retry(after: .seconds(95)))
    }

    @Test func neverComesBackFasterBecauseTheServerAskedForLess() {
        let decision = RetryPolicy().decision(
            after: Self.asking(.zero),
            attempt: 3,
            chance: 0
        )
        #expect(decision == .retry(after: .seconds(2)))
    }

    @Test func boundsWhatAServerMayAskFor() {
        let decision = RetryPolicy().decision(
            after: Self.asking(.seconds(1_000_000_000)),
            attempt: 1,
            chance: 0
        )
        #expect(decision == .retry(after: .seconds(3600)))
    }

    @Test func aWaitThatOutlastsTheTasksTimeIsNotBegun() {
        let policy = RetryPolicy()
        let failure = Self.asking(.seconds(90))
        for (remaining, isRetried) in [(91, true), (90, false), (0, false), (-1, false)] {
            let decision = policy.decision(
                after: failure,
                attempt: 1,
                remaining: .seconds(remaining),
                chance: 0
            )
            #expect(decision == (isRetried ? .retry(after: .seconds(90)) : .giveUp))
        }
    }
}
