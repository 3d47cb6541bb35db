import Foundation
import Synchronization
import Testing
import TransferModel

@Suite struct FenceTests {
    @Test func isSixteenHexadecimalDigits() {
        #expect("\(Fence(incarnation: 1, counter: 0))" == "0000010000000000")
        #expect("\(Fence(incarnation: 0x7F_FFFF, counter: 0xFF_FFFF_FFFF))" == "7fffffffffffffff")
        #expect("\(Fence(rawValue: -1))" == "ffffffffffffffff")
    }

    @Test(arguments: [Fence(incarnation: 0x7F_FFFF, counter: 1), Fence(incarnation: 1, counter: 0)])
    func isReadFromTheNameOfAPartFile(fence: Fence) {
        let task = TaskID(UUID())
        let destination = Destination(path: "a/b", overwrite: false)
        let named = ResultLocation.partPath(of: task, destination: destination, fence: fence)
        #expect(ResultLocation.fence(ofPart: named) == fence)
        #expect(ResultLocation.fence(ofPart: named.dropLast()) == nil)
        #expect(ResultLocation.attempt(ofPart: named) == nil)
        let own = ResultLocation.partPath(of: task, destination: nil, fence: fence)
        #expect(ResultLocation.fence(ofPart: own) == nil)
        #expect(ResultLocation.attempt(ofPart: own)?.task == task)
        #expect(ResultLocation.attempt(ofPart: own)?.fence == fence)
        for path in [
            String(own.dropLast()), "\(own).", "\(own).part", "a/\(own)", String(own.dropLast(17)),
        ] {
            #expect(ResultLocation.attempt(ofPart: path) == nil, "\(path)")
        }
        #expect(Fence(incarnation: 9, counter: 1 << 40 - 1).incarnation == 9)
    }

    @Test func anIncarnationsFencesAreAllItsOwn() {
        let last = Fence(incarnation: 7, counter: 1 << 40 - 1)
        #expect(last.rawValue < Fence(incarnation: 8, counter: 0).rawValue)
        #expect(Fence.all(of: 7) == Fence(incarnation: 7, counter: 0).rawValue...last.rawValue)
        #expect(Fence.all(of: Fence.incarnationEnd).upperBound == .max)
    }

    @Test func noFenceIsGivenOutTwiceToParallelTakers() async {
        let identity = WorkerIdentity(incarnation: 3)
        let taken = await withTaskGroup(of: [Int64].self) { group in
            for taker in 1...8 {
                group.addTask {
                    (0..<100).flatMap { _ in
                        let first = identity.reserve(taker).first.rawValue
                        return Array(first..<first + Int64(taker))
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(taken).count == taken.count)
    }

    @Test func aNewLifeHasNewFences() {
        let identity = WorkerIdentity(incarnation: 3)
        let old = identity.reserve(10)
        identity.adopt(incarnation: 4)
        let new = identity.reserve(10)
        #expect(identity.incarnation == 4)
        #expect(new.incarnation == 4)
        #expect(new.first == Fence(incarnation: 4, counter: 0))
        #expect(new.first != old.first)
    }

    @Test func isTrustedForAsLongAsItsLastSignOfLifeHasWon() {
        let identity = WorkerIdentity(incarnation: 3)
        let fence = identity.reserve(1).first
        let now = ContinuousClock.now
        #expect(identity.isTrusted(fence, at: now))
        identity.trust(until: now + .seconds(8))
        #expect(identity.isTrusted(fence, at: now + .seconds(7)))
        #expect(!identity.isTrusted(fence, at: now + .seconds(8)))
        #expect(!identity.isTrusted(at: now + .seconds(8)))
        // Claims of the previous registration stay lost, whatever is claimed now.
        identity.adopt(incarnation: 4)
        identity.trust(until: now + .seconds(100))
        #expect(identity.isTrusted(at: now))
        #expect(!identity.isTrusted(fence, at: now))
        #expect(Fence(incarnation: 0x7F_FFFF, counter: 0xFF_FFFF_FFFF).incarnation == 0x7F_FFFF)
    }
}
