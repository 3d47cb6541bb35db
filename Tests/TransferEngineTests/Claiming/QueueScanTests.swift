import Foundation
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

    /// A look that waited for a processor is not more expensive for that.
    @Test func theShortestOfTheLatestLooksSaysWhatOneCosts() {
        var queue = QueueScan()
        var end = Self.begin
        func look(_ duration: Duration) {
            let begin = end
            end += duration
            queue.looked(from: begin, to: end, foundUpTo: nil)
            queue.isStale = true
        }
        look(.milliseconds(1))
        for _ in 1..<8 {
            look(.milliseconds(100))
            #expect(!queue.mayLook(at: end + .microseconds(8900)))
            #expect(queue.mayLook(at: end + .milliseconds(9)))
        }
        look(.milliseconds(100))
        #expect(!queue.mayLook(at: end + .milliseconds(890)))
        #expect(queue.mayLook(at: end + .milliseconds(900)))
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
        #expect(queue.takeWakeUp(at: end) == nil)
        #expect(queue.mayLook(at: end + .milliseconds(1960)))
        queue.isStale = true
        #expect(queue.mayLook(at: end + .milliseconds(360)))
    }

    /// Otherwise they would be found after all flows ahead of them.
    @Test func namedHostsAreLookedAtWhileALookAtEverythingGoesOn() {
        var queue = QueueScan()
        let hosts: Set = [HostKey(rawValue: 7), HostKey(rawValue: 9)]
        queue.name(hosts)
        // A look at everything is to come, which may find them.
        #expect(queue.takeHosts().isEmpty)
        let last = Flow(hostKey: HostKey(rawValue: 1), session: SessionID(UUID()))
        queue.looked(from: Self.begin, to: Self.begin, foundUpTo: last)
        #expect(queue.takeHosts() == hosts)
        #expect(queue.takeHosts().isEmpty)
        // One that was named while the look was under way may be behind it.
        queue.name(hosts)
        queue.looked(from: Self.begin, to: Self.begin, foundUpTo: nil)
        queue.looked(from: Self.begin, to: Self.begin, foundUpTo: last)
        #expect(queue.takeHosts() == hosts)
        // A single look that found everything found them.
        queue.looked(from: Self.begin, to: Self.begin, foundUpTo: nil)
        queue.name(hosts)
        queue.looked(from: Self.begin, to: Self.begin, foundUpTo: nil)
        queue.looked(from: Self.begin, to: Self.begin, foundUpTo: last)
        #expect(queue.takeHosts().isEmpty)
    }

    @Test func howeverLongALookTookTheNextPollComesSoon() {
        var queue = QueueScan()
        let end = Self.begin + .seconds(600)
        queue.looked(from: Self.begin, to: end, foundUpTo: nil)
        #expect(!queue.mayLook(at: end + .seconds(100)))
        queue.isPolled = true
        #expect(!queue.mayLook(at: end + .seconds(4)))
        #expect(queue.mayLook(at: end + .seconds(5)))
    }
}
