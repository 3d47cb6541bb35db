import TransferModel

/// The assignment of a file's bytes to the connections of a download; it only decides and carries
/// nothing out.
///
/// At any time, each byte is in exactly one of three places: in the file, in the segment of one
/// connection, or in a gap that no connection fetches. Segments are divided while they run, so that
/// no connection is without work as long as another one has much.
struct SegmentPlan {
    /// The bytes that one connection is to fetch.
    private struct Segment {
        /// The position of the next byte that the connection brings.
        var position: Int64
        /// The position where the connection stops, although its response may continue.
        var end: Int64
        /// The position where its response ends.
        let limit: Int64

        var remaining: Int64 { end - position }
    }

    /// The maximum number of ranges of a file, in gaps and segments, so that little is stored of
    /// it.
    static let rangesMax = 64

    /// The bytes that no connection fetches.
    private(set) var gaps: ByteRangeSet
    private var segments: [Int: Segment] = [:]
    private let segmentBytesMin: Int64

    /// Creates a plan with one connection, whose response brings `range` of a file of `total` bytes
    /// of which `written` are there.
    ///
    /// - Parameters:
    ///   - total: the size of the file.
    ///   - written: the part of the file that is there, none of it in `range`.
    ///   - connection: the number of the first connection.
    ///   - range: the bytes that the first connection's response brings.
    ///   - segmentBytesMin: the minimum size of each half of a divided segment, above zero.
    init(
        total: Int64,
        written: ByteRangeSet,
        connection: Int,
        range: Range<Int64>,
        segmentBytesMin: Int64
    ) {
        precondition(segmentBytesMin > 0, "a segment has at least one byte")
        gaps = written.complement(of: total)
        gaps.remove(range)
        segments[connection] = Segment(
            position: range.lowerBound,
            end: range.upperBound,
            limit: range.upperBound
        )
        self.segmentBytesMin = segmentBytesMin
    }

    /// The number of connections that have a segment.
    var running: Int { segments.count }

    /// Whether every byte is in the file.
    var isComplete: Bool { segments.isEmpty && gaps.isEmpty }

    /// Returns the position of a connection's next byte; nil when it has no segment.
    func position(of connection: Int) -> Int64? { segments[connection]?.position }

    /// Returns the number of bytes that a connection may still bring.
    func room(of connection: Int) -> Int64 { segments[connection]?.remaining ?? 0 }

    /// The connections that have a segment.
    var connections: Set<Int> { Set(segments.keys) }

    /// Returns the range assigned to a connection that has brought nothing yet, although others may
    /// have taken some of it since.
    func asked(of connection: Int) -> Range<Int64>? {
        segments[connection].map { $0.position..<$0.limit }
    }

    /// Whether a connection has brought all that it is to bring while its response continues.
    func isCut(_ connection: Int) -> Bool {
        guard let segment = segments[connection] else { return true }
        return segment.remaining == 0 && segment.end < segment.limit
    }

    /// Gives a connection without a segment something to fetch: the largest gap, or else the second
    /// half of what remains of the largest segment.
    ///
    /// - Returns: the range to ask for; nil when there is nothing left that is worth a connection.
    mutating func assign(to connection: Int) -> Range<Int64>? {
        precondition(segments[connection] == nil, "a connection has one segment")
        let range: Range<Int64>
        if let gap = gaps.ranges.max(by: { $0.byteCount < $1.byteCount }) {
            gaps.remove(gap)
            range = gap
        } else if let half = divideLargest() {
            range = half
        } else {
            return nil
        }
        segments[connection] = Segment(
            position: range.lowerBound,
            end: range.upperBound,
            limit: range.upperBound
        )
        return range
    }

    /// Whether there is work for another connection.
    var hasWork: Bool { !gaps.isEmpty || divisible != nil }

    /// The segment with the most remaining bytes, if these are worth another connection.
    private var divisible: (connection: Int, segment: Segment)? {
        let largest = segments.max { left, right in
            // Among equals the first in the file, so that the same events give the same plan.
            left.value.remaining == right.value.remaining
                ? left.value.position > right.value.position
                : left.value.remaining < right.value.remaining
        }
        guard let largest, largest.value.remaining >= 2 * segmentBytesMin,
            segments.count + gaps.ranges.count < Self.rangesMax
        else { return nil }
        return (largest.key, largest.value)
    }

    /// Takes the second half of the largest segment.
    private mutating func divideLargest() -> Range<Int64>? {
        guard let (connection, segment) = divisible else { return nil }
        let middle = segment.position + segment.remaining / 2
        segments[connection]?.end = middle
        return middle..<segment.end
    }

    /// Records that a connection has brought its next bytes, at most as many as it has room for.
    mutating func advance(_ connection: Int, by count: Int64) {
        precondition(count <= room(of: connection), "a connection keeps to its segment")
        segments[connection]?.position += count
    }

    /// Records that a connection has ended, in whatever way.
    ///
    /// The bytes it has not brought go back to the connection they were taken from, if that
    /// connection has not reached them yet and its response contains them; otherwise they become a
    /// gap.
    ///
    /// - Returns: whether it has brought all of its segment.
    mutating func end(_ connection: Int) -> Bool {
        guard let segment = segments.removeValue(forKey: connection), segment.remaining > 0 else {
            return true
        }
        let previous = segments.first { other in
            other.value.end == segment.position && other.value.limit >= segment.end
                && other.value.remaining > 0
        }
        if let previous {
            segments[previous.key]?.end = segment.end
        } else {
            gaps.insert(segment.position..<segment.end)
        }
        return false
    }
}
