import Testing
import TransferModel

@Suite struct MirrorTourTests {
    private static let hosts = (1...3).map { HostKey(host: "\($0).example", port: 443) }
    private static let refused = TransferFailure(.httpStatus, "404", httpStatus: 404)
    private static let busy = TransferFailure(.httpStatus, "503", httpStatus: 503)
    private static let away = TransferFailure(.couldNotConnect, "away")
    private static let wrong = TransferFailure(.checksumMismatch, "wrong")
    /// Without jitter: 1 s, 2 s, 4 s.
    private static let policy = RetryPolicy(attemptsMax: 3, delayBase: .seconds(2))

    /// One failure after another, and what each has led to.
    private struct Walk {
        var tour: MirrorTour
        var number = 1
        var kind = Session.Kind.ephemeral

        init(
            _ hosts: [HostKey?] = MirrorTourTests.hosts,
            number: Int = 1,
            kind: Session.Kind = .ephemeral
        ) {
            tour = MirrorTour(hosts: hosts, place: MirrorPlace())
            self.number = number
            self.kind = kind
        }

        /// Fails the attempt; returns where the next one is and after which wait, or nil at the
        /// end.
        mutating func fail(
            _ failure: TransferFailure,
            wait: Duration? = nil,
            remaining: Duration = .seconds(1000),
            chance: Double = 0
        ) -> (rank: Int, wait: MirrorMove.Wait)? {
            let step = tour.step(
                after: failure,
                attempt: number,
                in: kind,
                by: MirrorTourTests.policy,
                connectivityWait: wait,
                remaining: remaining,
                chance: chance
            )
            guard case .move(let move) = step else { return nil }
            #expect(move.host == tour.hosts[move.place.rank])
            if case .retry = move.wait { number += 1 }
            tour = MirrorTour(hosts: tour.hosts, place: move.place)
            return (move.place.rank, move.wait)
        }
    }

    private func expect(
        _ step: (rank: Int, wait: MirrorMove.Wait)?,
        _ rank: Int,
        _ wait: MirrorMove.Wait = .nothing,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(step?.rank == rank, sourceLocation: location)
        #expect(step?.wait == wait, sourceLocation: location)
    }

    @Test func eachURLIsAskedAtOnceAndARoundFollowsAfterAWait() {
        var walk = Walk()
        expect(walk.fail(Self.busy), 1)
        expect(walk.fail(Self.busy), 2)
        expect(walk.fail(Self.busy), 0, .retry(.seconds(1)))
        expect(walk.fail(Self.busy), 1)
        expect(walk.fail(Self.busy), 2)
        expect(walk.fail(Self.busy), 0, .retry(.seconds(2)))
    }

    @Test func eachURLGetsTheAttemptsOfThePolicy() {
        var walk = Walk(number: 3)
        expect(walk.fail(Self.busy), 1)
        expect(walk.fail(Self.busy), 2)
        #expect(walk.fail(Self.busy) == nil)
    }

    /// Otherwise a mirror would make a task fail that goes on without it.
    @Test func aURLThatIsGivenUpEndsNothingWhileOthersAreLeft() {
        var walk = Walk()
        expect(walk.fail(Self.busy), 1)
        expect(walk.fail(Self.refused), 2)
        expect(walk.fail(Self.refused), 0, .retry(.seconds(1)))
        #expect(walk.tour.place.givenUp == [1, 2])
        expect(walk.fail(Self.busy), 0, .retry(.seconds(2)))
        #expect(walk.fail(Self.refused) == nil)
    }

    @Test func theTaskFailsWithTheLastURLThatIsLeft() {
        var walk = Walk()
        expect(walk.fail(Self.refused), 1)
        expect(walk.fail(Self.refused), 2)
        #expect(walk.fail(Self.refused) == nil)
    }

    /// In a background session an outage lasts as long as the task's time, and wrong bytes do not.
    @Test func wrongBytesOfAMirrorEndNoWaitForTheOthers() {
        var walk = Walk(kind: .background)
        for round in 1...2 {
            expect(walk.fail(Self.busy), 1)
            expect(walk.fail(Self.wrong), 2)
            expect(walk.fail(Self.busy), 0, .retry(.seconds(round)))
        }
        expect(walk.fail(Self.busy), 1)
        expect(walk.fail(Self.wrong), 2)
        expect(walk.fail(Self.busy), 0, .retry(.seconds(4)))
        #expect(walk.tour.place.givenUp == [1])
        expect(walk.fail(Self.busy), 2)
    }

    @Test func noServerIsAskedEarlierThanOneOfTheRoundHasAskedFor() {
        let asking = TransferFailure(.httpStatus, "429", httpStatus: 429, retryAfter: .seconds(60))
        var walk = Walk()
        expect(walk.fail(asking), 1)
        #expect(walk.tour.place.rest == .seconds(60))
        expect(walk.fail(Self.refused), 2)
        // Tasks that were refused together do not return together.
        var other = walk
        expect(other.fail(Self.busy, chance: 0.5), 0, .retry(.seconds(90)))
        expect(walk.fail(Self.busy), 0, .retry(.seconds(60)))
        // In the next round nobody has asked.
        expect(walk.fail(Self.busy), 2)
        expect(walk.fail(Self.busy), 0, .retry(.seconds(2)))
    }

    @Test func aWaitThatServersAskForIsBoundedAsWithoutMirrors() {
        let year: Duration = .seconds(365 * 24 * 3600)
        let asking = TransferFailure(.httpStatus, "429", httpStatus: 429, retryAfter: year)
        var walk = Walk()
        expect(walk.fail(asking, remaining: year * 2), 1)
        expect(walk.fail(Self.busy, remaining: year * 2), 2)
        expect(walk.fail(Self.busy, remaining: year * 2), 0, .retry(Self.policy.delayMax))
    }

    @Test func aTaskWaitsForConnectivityOnlyIfNoHostCouldBeReached() {
        var walk = Walk()
        expect(walk.fail(Self.away, wait: .seconds(7)), 1)
        expect(walk.fail(Self.away, wait: .seconds(7)), 2)
        expect(walk.fail(Self.away, wait: .seconds(7)), 0, .connectivity(.seconds(7)))
        #expect(walk.number == 1)
        expect(walk.fail(Self.away, wait: .seconds(7)), 1)
        expect(walk.fail(Self.busy), 2)
        expect(walk.fail(Self.away, wait: .seconds(7)), 0, .retry(.seconds(1)))
        #expect(walk.number == 2)
    }

    /// Its host may come back for as long as the task has time.
    @Test func aHostThatIsAwayIsNotGivenUp() {
        var walk = Walk(number: 3)
        expect(walk.fail(Self.away, wait: .seconds(7)), 1)
        expect(walk.fail(Self.busy), 2)
        expect(walk.fail(Self.busy), 0, .retry(.seconds(4)))
        expect(walk.fail(Self.away, wait: .seconds(7)), 0, .connectivity(.seconds(7)))
    }

    @Test func noWaitOutlastsTheTask() {
        var walk = Walk()
        expect(walk.fail(Self.busy, remaining: .milliseconds(1)), 1)
        expect(walk.fail(Self.busy, remaining: .milliseconds(1)), 2)
        #expect(walk.fail(Self.busy, remaining: .milliseconds(1)) == nil)
        var late = Walk()
        #expect(late.fail(Self.busy, remaining: .zero) == nil)
    }

    @Test func aURLThatCannotBeParsedIsPassedOver() {
        var walk = Walk([Self.hosts[0], nil, Self.hosts[2]])
        expect(walk.fail(Self.busy), 2)
        expect(walk.fail(Self.busy), 0, .retry(.seconds(1)))
    }

    /// What this service is short of, or does not know, is the same at every mirror.
    @Test func onlyFailuresThatMayBeAServersLeadToAnother() {
        let codes: [TransferFailure.Code] = [
            .couldNotResolveHost, .couldNotConnect, .proxyRefused, .egressDenied, .tlsFailure,
            .timedOut, .connectionLost, .lengthMismatch, .sizeMismatch, .checksumMismatch,
            .badResponse, .httpStatus, .proxyAuthenticationRequired, .badRedirect, .unsupportedURL,
            .fileTooLarge,
        ]
        for code in TransferFailure.Code.allCases {
            #expect(TransferFailure(code, "x").isAboutURL == codes.contains(code), "\(code)")
        }
    }
}
