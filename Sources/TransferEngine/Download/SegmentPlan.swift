import TransferModel

/// The assignment of a file's bytes to the connections of a download; it only decides and carries
/// nothing out.
///
/// At any time, each byte is in exactly one of three places: in the file, in the segment of one
/// connection, or in a gap that no connection fetches. Only ``overtake(_:)`` and ``coverGaps()``
/// give a connection bytes that are in another place too. Segments are divided while they run, so
/// that no connection is without work as long as another one has much.
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
    private let total: Int64
    private var written: ByteRangeSet
    private var mayDivide = true

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
        self.total = total
        self.written = written
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

    /// Whether every byte is in the file, although connections may be there that bring it again.
    var isWritten: Bool { written.count == total }

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
        guard mayDivide, let largest, largest.value.remaining >= 2 * segmentBytesMin,
            segments.count + gaps.ranges.count < Self.rangesMax
        else { return nil }
        return (largest.key, largest.value)
    }

    /// Divides no segment from now on; gaps are still work.
    mutating func endDivision() { mayDivide = false }

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
        guard let position = segments[connection]?.position else { return }
        written.insert(position..<position + count)
        segments[connection]?.position = position + count
    }

    /// Lets a connection that has brought its segment continue with the next one, of which its
    /// response brings the same bytes as the connection that was asked for them.
    mutating func overtake(_ connection: Int) {
        guard isCut(connection), let segment = segments[connection] else { return }
        let next = segments.values.first { $0.position == segment.end && $0.remaining > 0 }
        guard let next else { return }
        segments[connection]?.end = min(next.end, segment.limit)
    }

    /// Ends the segment of a connection where it has overtaken `other`, which brings the rest.
    mutating func leave(_ connection: Int, to other: Int) {
        guard connection != other, let segment = segments[connection], let next = segments[other],
            (next.position..<next.end).contains(segment.position), segment.end <= next.end
        else { return }
        segments[connection]?.end = segment.position
    }

    /// Records that a connection has ended, in whatever way.
    ///
    /// The bytes it has not brought go back to the connection before them, with a gap behind them,
    /// if that connection has not reached them yet and its response contains them; otherwise they
    /// become a gap.
    ///
    /// - Returns: whether it has brought all of its segment.
    mutating func end(_ connection: Int) -> Bool {
        guard let segment = segments.removeValue(forKey: connection), segment.remaining > 0 else {
            return true
        }
        var rest = ByteRangeSet(segment.position..<segment.end)
        for range in written.ranges { rest.remove(range) }
        for other in segments.values { rest.remove(other.position..<other.end) }
        for range in rest.ranges { gaps.insert(range) }
        absorbGaps()
        return false
    }

    /// Gives gaps to the connections before them, as far as the responses of these contain them.
    private mutating func absorbGaps() {
        for gap in gaps.ranges {
            let previous = segments.filter { _, segment in
                segment.end == gap.lowerBound && segment.limit > segment.end
                    && segment.remaining > 0
            }.max { $0.value.position < $1.value.position }
            guard let previous else { continue }
            let end = min(gap.upperBound, previous.value.limit)
            segments[previous.key]?.end = end
            gaps.remove(gap.lowerBound..<end)
        }
    }

    /// Gives each gap to a connection whose response contains it, although that response first
    /// brings, once more, what others bring or have brought before the gap.
    ///
    /// This is for an origin that would not send the gap when asked for it.
    mutating func coverGaps() {
        for gap in gaps.ranges {
            let nearest = segments.filter { _, segment in
                segment.remaining > 0 && segment.end <= gap.lowerBound
                    && segment.limit >= gap.upperBound
            }.max { left, right in
                // Among equals the first in the file, so that the same events give the same plan.
                left.value.end == right.value.end
                    ? left.value.position > right.value.position
                    : left.value.end < right.value.end
            }
            guard let nearest else { continue }
            segments[nearest.key]?.end = gap.upperBound
            gaps.remove(gap)
        }
    }
}
