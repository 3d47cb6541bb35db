import PollLoop
import Testing

@Suite struct BackoffTests {
    @Test(arguments: [
        (1, 0.0, 25), (1, 1.0, 50), (2, 1.0, 100), (5, 1.0, 800), (20, 1.0, 2000),
        (1000, 0.0, 1000),
    ])
    func doublesUpToItsLimit(failureCount: Int, chance: Double, milliseconds: Int) {
        #expect(
            Backoff().delay(failureCount: failureCount, chance: chance)
                == .milliseconds(milliseconds)
        )
    }

    @Test func jitterIsAFifthEitherWay() {
        let bounds = Duration.seconds(8)...Duration.seconds(12)
        let durations = (0..<100).map { _ in Duration.seconds(10).jittered }
        #expect(durations.allSatisfy { bounds.contains($0) })
        #expect(Set(durations).count > 1)
    }
}
