import Testing
import TransferStore

@Suite struct WakeUpThrottleTests {
    @Test func theDelayDoublesUpToAnHour() {
        let throttle = WakeUpThrottle()
        let delays = (0...9).map { throttle.delay(after: $0) / .seconds(1) }
        #expect(delays == [0, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
        #expect(throttle.delay(after: .max) == .seconds(3600))
        #expect(throttle.delay(after: -1) == .zero)
    }
}
