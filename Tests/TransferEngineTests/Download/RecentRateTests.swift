import Testing

@testable import TransferEngine

/// The recent rate of an attempt.
@Suite struct RecentRateTests {
    private let start = ContinuousClock.now

    /// Returns the rate after each of the samples: bytes so far, at half-second steps.
    private func rates(_ samples: [Int64]) -> [Int64] {
        var rate = RecentRate(0, at: start)
        return samples.enumerated().map { step, bytes in
            rate.note(bytes, at: start + .milliseconds(500 * (step + 1)))
            return rate.value
        }
    }

    @Test func aSteadyPaceIsTheRate() {
        #expect(rates((1...20).map { $0 * 500 }) == Array(repeating: 1000, count: 20))
    }

    @Test func whatIsLongAgoDoesNotCount() {
        let fast = (1...10).map { Int64($0) * 500_000 }
        let slow = (1...8).map { 5_000_000 + Int64($0) * 5 }
        #expect(rates(fast + slow).last == 10)
    }

    @Test func aStandstillIsSeen() {
        let rates = rates((1...10).map { $0 * 500 } + Array(repeating: 5000, count: 8))
        #expect(rates.last == 0)
        #expect(rates[10...].sorted(by: >) == Array(rates[10...]))
    }

    @Test func aNewBeginIsNoSpeed() {
        let rates = rates([500, 1000, 0, 500])
        #expect(rates == [1000, 1000, 0, 1000])
    }

    @Test func nothingIsSaidOfNoTime() {
        var rate = RecentRate(7, at: start)
        rate.note(9, at: start)
        #expect(rate.value == 0)
    }
}
