import Testing
import TransferModel

@testable import TransferEngine

@Suite struct QueueViewTests {
    private static let begin = ContinuousClock.now

    @Test func lookingTakesATenthOfTheTime() {
        var queue = QueueView()
        queue.looked(from: Self.begin, to: Self.begin + .milliseconds(10), foundUpTo: nil)
        queue.isStale = true
        #expect(!queue.mayLook(at: Self.begin + .milliseconds(99)))
        #expect(queue.mayLook(at: Self.begin + .milliseconds(100)))
    }

    @Test func howeverLongALookTookTheNextOneComesSoon() {
        var queue = QueueView()
        let end = Self.begin + .seconds(600)
        queue.looked(from: Self.begin, to: end, foundUpTo: nil)
        queue.isStale = true
        #expect(!queue.mayLook(at: end + .milliseconds(900)))
        #expect(queue.mayLook(at: end + .seconds(1)))
    }
}
