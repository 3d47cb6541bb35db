/// Bytes on their way through one direction of a faulty connection.
///
/// A pure state machine: bytes and the time go in, the next step comes out.
struct FaultQueue {
    typealias Instant = ContinuousClock.Instant

    /// The next step.
    enum Step {
        /// Write up to `count` bytes from the front.
        case write(count: Int)
        /// Wait for the time.
        case wait(until: Instant)
        /// Wait for bytes.
        case starve
        /// Tell the receiving end that the sending end has finished.
        case finish
        /// Perform the fault.
        case fail(Faults.End)
        /// Do nothing, ever again.
        case done
    }

    private struct Piece {
        let bytes: [UInt8]
        let due: Instant
    }

    private let faults: Faults.Stream
    private let capacity: Int
    private var pieces: [Piece] = []
    private var first = 0
    private var offset = 0
    private var queued = 0
    private var passed = 0
    private var settledAt: Instant?
    private var endDue: Instant?
    /// Whether no more bytes come.
    private(set) var isDone = false

    /// The room beyond the bytes that a delay keeps on their way.
    private static let capacityMin = 512 * 1024
    /// The rate assumed for a stream without one.
    private static let rateAssumed: Int64 = 100 << 20
    /// The time by which writes run ahead of the rate, so that timers of a millisecond can keep it.
    private static let slack: Duration = .milliseconds(5)

    init(_ faults: Faults.Stream) {
        self.faults = faults
        let onTheWay = faults.delay / .seconds(1) * Double(faults.rate ?? Self.rateAssumed)
        capacity = Self.capacityMin + Int(onTheWay)
    }

    /// The number of bytes that may be added now.
    var room: Int { endDue == nil && !isDone ? max(0, capacity - queued) : 0 }

    /// Adds bytes; an empty array is the end of the stream.
    mutating func add(_ bytes: [UInt8], at now: Instant) {
        guard !bytes.isEmpty else {
            endDue = now + faults.delay
            return
        }
        queued += bytes.count
        pieces.append(Piece(bytes: bytes, due: now + faults.delay))
    }

    /// Returns the next step.
    func step(at now: Instant) -> Step {
        if isDone { return .done }
        let left = faults.end.map { $0.byteCount - passed } ?? .max
        if left <= 0, let end = faults.end { return .fail(end) }
        guard first < pieces.count else {
            guard let endDue else { return .starve }
            return endDue <= now ? .finish : .wait(until: endDue)
        }
        let piece = pieces[first]
        if piece.due > now { return .wait(until: piece.due) }
        if let settledAt, settledAt > now + Self.slack { return .wait(until: settledAt) }
        var count = min(piece.bytes.count - offset, left)
        if let slice = faults.sliceBytesMax { count = min(count, slice) }
        if let rate = faults.rate {
            // About as much as the slack, so that one write is not followed by a long silence.
            count = min(count, max(1, Int(Double(rate) * (Self.slack / .seconds(1)))))
        }
        return .write(count: count)
    }

    /// Calls `body` with the bytes at the front, for it to write them.
    func withFront<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        pieces[first].bytes.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[offset...]))
        }
    }

    /// Records that bytes were written from the front.
    mutating func written(_ count: Int, at now: Instant) {
        queued -= count
        passed += count
        offset += count
        if let rate = faults.rate {
            settledAt =
                max(settledAt ?? now, now - Self.slack) + .seconds(Double(count) / Double(rate))
        }
        guard offset == pieces[first].bytes.count else { return }
        offset = 0
        first += 1
        // Removing pieces from the front one by one would move the rest each time.
        if first == pieces.count || first == 64 {
            pieces.removeFirst(first)
            first = 0
        }
    }

    /// Drops everything; no more bytes come.
    mutating func end() {
        isDone = true
        pieces = []
        first = 0
        queued = 0
    }
}
