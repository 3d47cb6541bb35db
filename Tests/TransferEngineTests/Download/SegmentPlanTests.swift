import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine

/// The assignment of bytes to connections.
@Suite struct SegmentPlanTests {
    private static let total: Int64 = 1000

    private static func plan(
        written: ByteRangeSet = ByteRangeSet(),
        first: Range<Int64> = 0..<total,
        min: Int64 = 100
    ) -> SegmentPlan {
        SegmentPlan(
            total: total,
            written: written,
            connection: 0,
            range: first,
            segmentBytesMin: min
        )
    }

    @Test func theLargestSegmentIsDividedInItsMiddle() {
        var plan = Self.plan()
        #expect(plan.assign(to: 1) == 500..<1000)
        #expect(plan.room(of: 0) == 500)
        plan.advance(0, by: 300)
        #expect(plan.assign(to: 2) == 750..<1000)
        // The first has 200 left, each other 250.
        #expect(plan.assign(to: 3) == 625..<750)
        #expect(plan.assign(to: 4) == 875..<1000)
        #expect(plan.assign(to: 5) == 400..<500)
        // Halves of 62 bytes are not worth it.
        #expect(plan.assign(to: 6) == nil)
        #expect(plan.running == 6)
    }

    @Test func aConnectionStopsExactlyWhereAnotherBegins() {
        var plan = Self.plan()
        _ = plan.assign(to: 1)
        plan.advance(0, by: 499)
        #expect(!plan.isCut(0))
        plan.advance(0, by: 1)
        #expect(plan.isCut(0))
        // Its own end is the end of its response, which is read to keep the connection.
        plan.advance(1, by: 500)
        #expect(!plan.isCut(1))
        #expect(plan.end(0) == true)
        #expect(plan.end(1) == true)
        #expect(plan.isComplete)
    }

    @Test func whatARefusedConnectionWasToBringGoesBack() {
        var plan = Self.plan()
        _ = plan.assign(to: 1)
        #expect(plan.end(1) == false)
        #expect(plan.gaps.isEmpty)
        #expect(plan.room(of: 0) == 1000)
        plan.advance(0, by: 1000)
        #expect(plan.end(0) == true)
        #expect(plan.isComplete)
    }

    /// However the file was divided, and in whatever order the others are refused.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func whatAllOthersAreRefusedTheFirstOneBrings(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        var plan = Self.plan(min: 20)
        for connection in 1...Int.random(in: 1...12, using: &generator) {
            let countMax = min(3, plan.room(of: 0) - 1)
            plan.advance(0, by: Int64.random(in: 0...countMax, using: &generator))
            _ = plan.assign(to: connection)
        }
        let others = plan.connections.subtracting([0]).sorted()
        #expect(!others.isEmpty)
        for connection in others.shuffled(using: &generator) {
            #expect(plan.end(connection) == false)
        }
        #expect(plan.gaps.isEmpty)
        #expect(plan.connections == [0])
        let position = try #require(plan.position(of: 0))
        #expect(plan.room(of: 0) == Self.total - position)
    }

    @Test func aGapIsTakenAsFarAsTheResponseBeforeItGoes() {
        var plan = Self.plan(written: ByteRangeSet(700..<1000), first: 0..<600)
        #expect(plan.assign(to: 1) == 600..<700)
        #expect(plan.assign(to: 2) == 300..<600)
        #expect(plan.end(1) == false)
        #expect(plan.gaps == ByteRangeSet(600..<700))
        #expect(plan.end(2) == false)
        #expect(plan.gaps == ByteRangeSet(600..<700))
        #expect(plan.room(of: 0) == 600)
    }

    @Test func aResponseThatContainsAGapBringsWhatIsBeforeItTwice() {
        var plan = Self.plan()
        #expect(plan.assign(to: 1) == 500..<1000)
        #expect(plan.assign(to: 2) == 250..<500)
        plan.advance(2, by: 50)
        #expect(plan.end(1) == false)
        #expect(plan.gaps == ByteRangeSet(500..<1000))
        plan.coverGaps()
        #expect(plan.gaps.isEmpty)
        #expect(plan.room(of: 0) == 1000)
        #expect(plan.room(of: 2) == 200)
        // What the other one does not bring is on its way already.
        plan.advance(2, by: 100)
        #expect(plan.end(2) == false)
        #expect(plan.gaps.isEmpty)
        plan.advance(0, by: 1000)
        #expect(plan.end(0) == true)
        #expect(plan.isComplete)
    }

    @Test func aPartThatHasNotBegunIsOvertaken() {
        var plan = Self.plan()
        #expect(plan.assign(to: 1) == 500..<1000)
        plan.advance(0, by: 400)
        plan.overtake(0)
        #expect(plan.room(of: 0) == 100)
        plan.advance(0, by: 100)
        plan.overtake(0)
        #expect(!plan.isCut(0))
        #expect(plan.room(of: 0) == 500)
        plan.advance(0, by: 200)
        // What is there is no gap, and neither is what is on its way.
        #expect(plan.end(1) == false)
        #expect(plan.gaps.isEmpty)
        plan.advance(0, by: 300)
        #expect(plan.isWritten)
        #expect(plan.end(0) == true)
        #expect(plan.isComplete)
    }

    @Test func aPartThatBeginsIsLeftToItsConnection() {
        var plan = Self.plan()
        #expect(plan.assign(to: 1) == 500..<1000)
        plan.leave(0, to: 1)
        #expect(plan.room(of: 0) == 500)
        plan.advance(0, by: 500)
        plan.overtake(0)
        plan.advance(0, by: 200)
        plan.leave(0, to: 1)
        #expect(plan.isCut(0))
        #expect(plan.end(0) == true)
        #expect(plan.room(of: 1) == 500)
        // Of what it does not bring, the first 200 bytes are there.
        plan.advance(1, by: 100)
        #expect(plan.end(1) == false)
        #expect(plan.gaps == ByteRangeSet(700..<1000))
    }

    @Test func aGapThatNoResponseContainsStays() {
        var plan = Self.plan(written: ByteRangeSet(600..<700), first: 0..<600)
        plan.coverGaps()
        #expect(plan.gaps == ByteRangeSet(700..<1000))
        #expect(plan.room(of: 0) == 600)
    }

    @Test func nothingIsDividedAnyMore() {
        var plan = Self.plan(written: ByteRangeSet(600..<700), first: 0..<600)
        plan.endDivision()
        #expect(plan.hasWork)
        #expect(plan.assign(to: 1) == 700..<1000)
        #expect(!plan.hasWork)
        #expect(plan.assign(to: 2) == nil)
    }

    @Test func whatCannotGoBackIsAGapAndComesFirst() {
        var plan = Self.plan()
        _ = plan.assign(to: 1)
        plan.advance(1, by: 100)
        #expect(plan.end(1) == false)
        #expect(plan.gaps == ByteRangeSet(600..<1000))
        #expect(plan.room(of: 0) == 500)
        #expect(plan.assign(to: 2) == 600..<1000)
        // A response requested up to 750 cannot bring more.
        #expect(plan.assign(to: 3) == 250..<500)
        #expect(plan.assign(to: 4) == 800..<1000)
        #expect(plan.assign(to: 5) == 125..<250)
        #expect(plan.end(4) == false)
        #expect(plan.room(of: 2) == 400)
        plan.advance(0, by: 125)
        #expect(plan.end(0) == true)
        #expect(plan.end(5) == false)
        #expect(plan.gaps == ByteRangeSet(125..<250))
    }

    @Test func whatIsThereIsNotFetched() {
        var written = ByteRangeSet(0..<300)
        written.insert(600..<700)
        var plan = Self.plan(written: written, first: 300..<600)
        #expect(plan.gaps == ByteRangeSet(700..<1000))
        #expect(plan.assign(to: 1) == 700..<1000)
        #expect(plan.assign(to: 2) == 450..<600)
    }

    /// Any order of events, compared with a file that records for each byte who has written it.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func everyByteIsWrittenOnceWhateverHappens(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var plan = Self.plan(min: Int64.random(in: 1...200, using: &generator))
        var written = Array(repeating: 0, count: Int(Self.total))
        var lastConnection = 0
        var running: Set<Int> = [0]
        var responseEnds = [0: Self.total]
        while !plan.isComplete {
            let connection = running.randomElement(using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<6:
                guard let connection, let position = plan.position(of: connection) else { continue }
                let count = Int64.random(in: 0...plan.room(of: connection), using: &generator)
                for offset in position..<position + count { written[Int(offset)] += 1 }
                plan.advance(connection, by: count)
                if plan.room(of: connection) == 0 {
                    #expect(plan.end(connection) == true)
                    running.remove(connection)
                }
            case 6:
                guard let connection else { continue }
                _ = plan.end(connection)
                running.remove(connection)
            default:
                guard running.count < 16, let range = plan.assign(to: lastConnection + 1) else {
                    continue
                }
                lastConnection += 1
                responseEnds[lastConnection] = range.upperBound
                running.insert(lastConnection)
            }
            #expect(plan.running == running.count)
            #expect(plan.connections == running)
            // Nobody is assigned bytes that its response does not hold.
            for connection in running {
                let end = (plan.position(of: connection) ?? 0) + plan.room(of: connection)
                #expect(end <= responseEnds[connection, default: 0])
            }
            #expect(plan.gaps.ranges.count + plan.running <= SegmentPlan.rangesMax)
        }
        #expect(written.allSatisfy { $0 == 1 })
    }

    @Test func itNeverBecomesMoreThanSoManyRanges() {
        var plan = SegmentPlan(
            total: 1 << 40,
            written: ByteRangeSet(),
            connection: 0,
            range: 0..<1 << 40,
            segmentBytesMin: 1
        )
        var count = 1
        while plan.assign(to: count) != nil { count += 1 }
        #expect(count == SegmentPlan.rangesMax)
    }
}
