import Testing
import TransferModel

@testable import TransferEngine

@Suite struct QueueScanTests {
    private static let begin = ContinuousClock.now

    @Test func lookingTakesATenthOfTheTime() {
        var queue = QueueScan()
        queue.looked(from: Self.begin, to: Self.begin + .milliseconds(10), foundUpTo: nil)
        queue.isStale = true
        #expect(!queue.mayLook(at: Self.begin + .milliseconds(99)))
        #expect(queue.mayLook(at: Self.begin + .milliseconds(100)))
    }

    @Test func howeverLongALookTookTheNextOneComesSoon() {
        var queue = QueueScan()
        let end = Self.begin + .seconds(600)
        queue.looked(from: Self.begin, to: end, foundUpTo: nil)
        queue.isStale = true
        #expect(!queue.mayLook(at: end + .milliseconds(900)))
        #expect(queue.mayLook(at: end + .seconds(1)))
    }

    /// A slow look that only time calls for is made more rarely than one for news.
    @Test func whatNobodyHasSaidIsLookedForWithAFiftiethOfTheTime() {
        var queue = QueueScan()
        let end = Self.begin + .milliseconds(40)
        queue.looked(from: Self.begin, to: end, foundUpTo: nil)
        queue.isPolled = true
        #expect(!queue.mayLook(at: end + .milliseconds(1950)))
        #expect(queue.takeRest(at: end) == nil)
        #expect(queue.mayLook(at: end + .milliseconds(1960)))
        queue.isStale = true
        #expect(queue.mayLook(at: end + .milliseconds(360)))
        queue.looked(from: end, to: end + .seconds(600), foundUpTo: nil)
        #expect(!queue.mayLook(at: end + .seconds(700)))
        queue.isPolled = true
        #expect(!queue.mayLook(at: end + .seconds(604)))
        #expect(queue.mayLook(at: end + .seconds(605)))
    }
}
