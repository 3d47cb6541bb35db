import Testing
import TransferTestSupport
import TransferWebhooks

@Suite struct DeliveryScheduleTests {
    @Test(arguments: [
        (1, 5), (2, 300), (3, 1800), (4, 7200), (5, 18_000), (6, 36_000), (7, 50_400),
        (8, 72_000), (9, 86_400), (0, 5),
    ])
    func waitsAsStandardWebhooksSuggests(number: Int, seconds: Int) throws {
        let wait = try #require(DeliverySchedule.default.wait(afterTry: number, chance: 0.5))
        #expect(abs((wait - .seconds(seconds)) / .seconds(1)) < 0.001)
    }

    @Test(arguments: [10, 11, 1000, Int.max])
    func givesUpAfterTheTryThatFollowsTheLastWait(number: Int) {
        let schedule = DeliverySchedule.default
        #expect(schedule.wait(afterTry: number, chance: 0.5) == nil)
        #expect(schedule.wait(afterTry: number, retryAfter: .seconds(60), chance: 0) == nil)
    }

    @Test(arguments: UInt64(1)...50)
    func triesTenTimesOverMoreThanTwoDays(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var clock = Duration.zero
        var tries = 1
        while let wait = DeliverySchedule.default.wait(
            afterTry: tries,
            chance: .random(in: 0..<1, using: &random)
        ) {
            clock += wait
            tries += 1
        }
        #expect(tries == 10)
        #expect(clock >= .seconds(2 * 86_400))
        #expect(clock <= .seconds(4 * 86_400))
    }

    @Test(arguments: [(0.0, 80.0), (0.25, 90), (0.5, 100), (0.999_999, 120)])
    func spreadsWaitsByAFifth(chance: Double, seconds: Double) throws {
        let schedule = DeliverySchedule(waits: [.seconds(100)])
        let wait = try #require(schedule.wait(afterTry: 1, chance: chance))
        #expect(abs(wait / .seconds(1) - seconds) < 0.001)
    }

    @Test(arguments: [
        (0, 300), (299, 300), (300, 300), (301, 301), (86_400, 86_400), (86_401, 86_400),
        (1_000_000_000, 86_400),
    ])
    func honoursRetryAfterBetweenItsOwnWaitAndADay(asked: Int, seconds: Int) {
        let wait = DeliverySchedule.default
            .wait(afterTry: 2, retryAfter: .seconds(asked), chance: 0)
        #expect(wait == .seconds(seconds))
    }

    @Test func keepsItsOwnWaitWhereThatIsLongerThanTheBound() {
        let schedule = DeliverySchedule(waits: [.seconds(100_000)])
        #expect(
            schedule.wait(afterTry: 1, retryAfter: .seconds(90_000), chance: 0)
                == .seconds(100_000)
        )
    }
}
