/// A set of bytes of a file, as ranges in ascending order that neither overlap nor touch.
package struct ByteRangeSet: Hashable, Sendable {
    /// The ranges of the set.
    package private(set) var ranges: [Range<Int64>] = []
    /// The number of bytes in all ranges.
    package private(set) var count: Int64 = 0

    /// Creates a set of the bytes of one range, which may be empty.
    package init(_ range: Range<Int64> = 0..<0) { insert(range) }

    /// Whether the set has no bytes.
    package var isEmpty: Bool { ranges.isEmpty }

    /// The number of bytes from the start of the file up to the first gap.
    package var prefixCount: Int64 {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// The end of the last range; 0 when the set is empty.
    package var upperBound: Int64 { ranges.last?.upperBound ?? 0 }

    /// Adds the bytes of a range, some of which may already be in the set.
    ///
    /// The cost is one step for each range, and no more when a range only grows.
    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let low = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.endIndex
        let high =
            ranges[low...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.endIndex
        guard low < high else {
            ranges.insert(range, at: low)
            count += range.byteCount
            return
        }
        let merged =
            min(
                ranges[low].lowerBound,
                range.lowerBound
            )..<max(ranges[high - 1].upperBound, range.upperBound)
        for known in ranges[low..<high] { count -= known.byteCount }
        count += merged.byteCount
        ranges[low] = merged
        ranges.removeSubrange(low + 1..<high)
    }

    /// Removes the bytes of a range, some of which may not be in the set.
    package mutating func remove(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        ranges = ranges.flatMap { known in
            guard known.overlaps(range) else { return [known] }
            let before = known.lowerBound..<max(known.lowerBound, range.lowerBound)
            let after = min(known.upperBound, range.upperBound)..<known.upperBound
            return [before, after].filter { !$0.isEmpty }
        }
        count = ranges.reduce(0) { $0 + $1.byteCount }
    }

    /// Returns the bytes of a file of `total` bytes that are not in the set.
    package func complement(of total: Int64) -> ByteRangeSet {
        var rest = ByteRangeSet(0..<total)
        for range in ranges { rest.remove(range) }
        return rest
    }
}

extension Range<Int64> {
    /// The number of bytes in the range.
    package var byteCount: Int64 { upperBound - lowerBound }
}

extension ByteRangeSet {
    /// The set as PostgreSQL writes an `int8multirange`: `{[0,10),[20,30)}`.
    package var text: String {
        "{" + ranges.map { "[\($0.lowerBound),\($0.upperBound))" }.joined(separator: ",") + "}"
    }

    /// Reads PostgreSQL's text of an `int8multirange` of bounded ranges from 0 on; nil for anything
    /// else.
    package init?(text: String) {
        self.init()
        let bytes = Array(text.utf8)
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}")
        else { return nil }
        var rest = bytes.dropFirst().dropLast()
        while !rest.isEmpty {
            guard rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: ")"))
            else { return nil }
            let bounds = rest[rest.startIndex + 1..<end].split(
                separator: UInt8(ascii: ","),
                omittingEmptySubsequences: false
            ).map { Int64(String(decoding: $0, as: UTF8.self)) }
            guard bounds.count == 2, let lower = bounds[0], let upper = bounds[1], 0 <= lower,
                lower < upper, isEmpty || lower > upperBound
            else { return nil }
            insert(lower..<upper)
            rest = rest[(end + 1)...]
            guard rest.isEmpty || rest.first == UInt8(ascii: ","), rest.count != 1 else {
                return nil
            }
            rest = rest.dropFirst()
        }
    }
}
