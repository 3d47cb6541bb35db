import Testing

@testable import Curl

@Suite
struct FirstByteWatchTests {
    private let start = ContinuousClock.now
    private let limit = Duration.seconds(2)

    private func after(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test func neverEndsWithoutTimeout() {
        var watch = FirstByteWatch(timeout: nil)
        watch.begin(at: start, sendsBody: false)
        #expect(watch.deadline(at: start) == nil)
        #expect(!watch.isOverdue(at: after(1_000_000)))
    }

    @Test func connectingDoesNotCount() {
        let watch = FirstByteWatch(timeout: limit)
        #expect(!watch.isOverdue(at: after(100)))
        // The watch looks again when a connection made right now would have waited too long.
        #expect(watch.deadline(at: after(100)) == after(102))
    }

    @Test func countsFromRequestWithoutBody() {
        var watch = FirstByteWatch(timeout: limit)
        watch.begin(at: after(9), sendsBody: false)
        #expect(watch.deadline(at: after(10)) == after(11))
        #expect(!watch.isOverdue(at: after(10)))
        #expect(watch.isOverdue(at: after(11)))
        #expect(watch.requestEnd == after(9))
    }

    @Test func countsFromLastByteOfBody() {
        var watch = FirstByteWatch(timeout: limit)
        watch.begin(at: start, sendsBody: true)
        #expect(!watch.isOverdue(at: after(100)))
        #expect(watch.requestEnd == nil)
        watch.bodySent(at: after(100))
        #expect(watch.deadline(at: after(100)) == after(102))
        #expect(watch.isOverdue(at: after(102)))
        #expect(watch.requestStart == start)
        #expect(watch.requestEnd == after(100))
    }

    @Test func answerEndsWaitForGood() {
        var watch = FirstByteWatch(timeout: limit)
        watch.begin(at: start, sendsBody: true)
        watch.answered(at: start)
        watch.bodySent(at: after(1))
        #expect(!watch.isOverdue(at: after(100)))
        #expect(watch.deadline(at: after(100)) == nil)
        #expect(watch.requestEnd == after(1))
        watch.answered(at: after(2))
        #expect(watch.responseStart == start)
    }

    @Test func repeatedRequestCountsAnew() {
        var watch = FirstByteWatch(timeout: limit)
        watch.begin(at: start, sendsBody: true)
        watch.bodySent(at: start)
        watch.begin(at: after(1), sendsBody: true)
        #expect(!watch.isOverdue(at: after(3)))
        watch.bodySent(at: after(4))
        #expect(watch.isOverdue(at: after(6)))
    }
}
