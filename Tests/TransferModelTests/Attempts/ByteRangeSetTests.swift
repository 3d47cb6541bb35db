import Testing
import TransferModel
import TransferTestSupport

@Suite struct ByteRangeSetTests {
    private static let size: Int64 = 40

    private static func bytes(_ set: ByteRangeSet) -> Set<Int64> {
        Set(set.ranges.flatMap(\.self))
    }

    /// The set is compared with one that holds each byte by itself.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func isTheSetOfItsBytes(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var set = ByteRangeSet()
        var expected: Set<Int64> = []
        for _ in 0..<60 {
            let lower = Int64.random(in: 0..<Self.size, using: &generator)
            let range = lower..<Int64.random(in: lower...Self.size, using: &generator)
            if Bool.random(using: &generator) {
                set.insert(range)
                expected.formUnion(range)
            } else {
                set.remove(range)
                expected.subtract(range)
            }
            #expect(Self.bytes(set) == expected)
            #expect(set.count == Int64(expected.count))
            #expect(set.upperBound == (expected.max() ?? -1) + 1)
            #expect(set.prefixCount == (0...Self.size).first { !expected.contains($0) })
            // In order, and with a gap between any two.
            #expect(
                zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
            )
            let rest = set.complement(of: Self.size)
            #expect(Self.bytes(rest) == Set(0..<Self.size).subtracting(expected))
            #expect(ByteRangeSet(text: set.text) == set)
        }
    }

    @Test func isWrittenAsTheDatabaseWritesIt() {
        var set = ByteRangeSet(20..<30)
        set.insert(0..<10)
        #expect(set.text == "{[0,10),[20,30)}")
        #expect(ByteRangeSet().text == "{}")
        #expect(ByteRangeSet(text: "{}") == ByteRangeSet())
    }

    @Test(arguments: [
        "", "{", "}", "{[0,10)", "[0,10)", "{[0,10]}", "{(0,10)}", "{[0,)}", "{[,10)}", "{[10,0)}",
        "{[5,5)}", "{[-1,5)}", "{[0,10),}", "{[0,10)[20,30)}", "{[20,30),[0,10)}", "{[0,5),[5,9)}",
        "{[0,5,9)}", "{[0,99999999999999999999)}",
    ])
    func nothingElseIsReadAsRanges(text: String) {
        #expect(ByteRangeSet(text: text) == nil)
    }
}
