import Testing
import TransferStore

@Suite struct WakeUpThrottleTests {
    @Test func theDelayDoublesUpToAnHour() {
        let delays = WakeUpThrottle().delays.map { $0 / .seconds(1) }
        #expect(delays == [60, 120, 240, 480, 960, 1920, 3600])
    }
}
