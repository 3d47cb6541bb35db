import TransferModel
import Testing
import TransferEngine
import TransferTestSupport

@Suite struct HostPaceTests {
    private static let begin = ContinuousClock.now

    /// Lets `count` attempts end well, one every `interval`, with all connections in use.
    private func succeed(
        _ pace: inout HostPace,
        _ count: Int,
        bytes: Int64 = 1000,
        every interval: Duration = .milliseconds(1),
        from now: ContinuousClock.Instant = begin
    ) -> [HostPace.Decision] {
        (0..<count).compactMap { index in
            pace.note(.answered, bytes: bytes, running: pace.limit, at: now + interval * index)
        }
    }

    @Test func aHostThatIsWellIsLeftAlone() {
        var pace = HostPace(max: 6)
        #expect(succeed(&pace, 1000).isEmpty)
        #expect(pace.limit == 6)
        #expect(pace.isUntroubled)
    }

    @Test(arguments: [
        (HostPace.Report.refused(status: 429), "Halved, because it answered 429."),
        (.refused(status: 503), "Halved, because it answered 503."),
        (.failed(.timedOut), "Halved, because an attempt ended with timed_out."),
    ])
    func tooMuchIsHalved(report: HostPace.Report, reason: String) {
        var pace = HostPace(max: 8)
        let decision = pace.note(report, bytes: 0, running: 8, at: Self.begin)
        #expect(decision == HostPace.Decision(before: 8, after: 4, reason: reason))
        #expect(pace.limit == 4)
        #expect(!pace.isUntroubled)
    }

    @Test func whatRanBesideItSaysTheSameAndCountsOnce() {
        var pace = HostPace(max: 8)
        var decisions = 0
        for _ in 0..<8
        where pace.note(.refused(status: 503), bytes: 0, running: 8, at: Self.begin) != nil {
            decisions += 1
        }
        #expect(decisions == 1)
        #expect(pace.limit == 4)
        #expect(pace.note(.refused(status: 503), bytes: 0, running: 4, at: Self.begin)?.after == 2)
    }

    @Test func thereIsAlwaysOne() {
        var pace = HostPace(max: 2)
        for _ in 0..<100 {
            _ = pace.note(.failed(.connectionLost), bytes: 0, running: 1, at: Self.begin)
        }
        #expect(pace.limit == 1)
    }

    @Test func oneMoreAfterEachRoundOfSuccesses() {
        var pace = HostPace(max: 6)
        _ = pace.note(.refused(status: 503), bytes: 0, running: 1, at: Self.begin)
        let decisions = succeed(&pace, 13)
        // After three, four and five of them.
        #expect(decisions.map(\.after) == [4, 5, 6])
        #expect(
            decisions.first?.reason
                == "One more, because 3 attempts went well with all connections in use."
        )
        #expect(pace.isUntroubled)
        #expect(succeed(&pace, 100).isEmpty)
    }

    @Test func noMoreThanAreUsed() {
        var pace = HostPace(max: 6)
        _ = pace.note(.refused(status: 503), bytes: 0, running: 1, at: Self.begin)
        for _ in 0..<100 {
            #expect(pace.note(.answered, bytes: 1, running: 2, at: Self.begin) == nil)
        }
    }

    @Test func whatSaysNothingOfTheHostChangesNothing() {
        var pace = HostPace(max: 6)
        #expect(pace.note(.nothing, bytes: 0, running: 6, at: Self.begin) == nil)
        #expect(pace.limit == 6)
    }

    @Test func moreConnectionsThatBringLessAreTakenBack() {
        var pace = HostPace(max: 8)
        _ = pace.note(.refused(status: 503), bytes: 0, running: 1, at: Self.begin)
        // Four bring 1 MB/s for some seconds.
        var now = Self.begin + .milliseconds(1)
        let more = succeed(&pace, 5, bytes: 600_000, every: .milliseconds(800), from: now)
        #expect(more.map(\.after) == [5])
        // Five bring half of that.
        now += .seconds(4)
        let back = succeed(&pace, 6, bytes: 300_000, every: .milliseconds(600), from: now)
        #expect(back.map(\.after).contains(4))
        #expect(back.first?.reason.hasPrefix("Back to 4, because 5 brought") == true)
        // No more are tried for a minute; after that they are.
        let limit = pace.limit
        #expect(succeed(&pace, 20, every: .seconds(1), from: now + .seconds(5)).isEmpty)
        #expect(pace.limit == limit)
        #expect(!succeed(&pace, 20, every: .seconds(10), from: now + .seconds(30)).isEmpty)
    }

    @Test func anotherBoundHoldsAtOnce() {
        var pace = HostPace(max: 8)
        pace.setMax(3)
        #expect(pace.limit == 3)
        pace.setMax(10)
        #expect(pace.limit == 10)
        _ = pace.note(.refused(status: 429), bytes: 0, running: 1, at: Self.begin)
        pace.setMax(20)
        // Allowing more does not make it forget trouble.
        #expect(pace.limit == 5)
        pace.setMax(2)
        #expect(pace.limit == 2)
    }

    @Test(arguments: 0..<500 as Range<UInt64>)
    func staysWithinItsBounds(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var max = Int.random(in: 1...20, using: &generator)
        var pace = HostPace(max: max)
        var now = Self.begin
        for _ in 0..<300 {
            now += .milliseconds(Int.random(in: 0...500, using: &generator))
            if Int.random(in: 0..<50, using: &generator) == 0 {
                max = Int.random(in: 1...20, using: &generator)
                pace.setMax(max)
            }
            let before = pace.limit
            let reports: [HostPace.Report] = [
                .answered, .answered, .answered, .nothing, .refused(status: 429),
                .failed(.timedOut),
            ]
            let decision = pace.note(
                reports.randomElement(using: &generator) ?? .nothing,
                bytes: .random(in: 0...1_000_000, using: &generator),
                running: .random(in: 0...20, using: &generator),
                at: now
            )
            #expect((1...max).contains(pace.limit))
            // Nothing changes without a report.
            #expect(decision?.before ?? before == before)
            #expect(decision?.after ?? before == pace.limit)
            #expect(decision.map { $0.before != $0.after } ?? true)
        }
    }
}
