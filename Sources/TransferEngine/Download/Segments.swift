import Curl
import TransferModel

/// The connections of one download: what each fetches, how many there are, and what follows when
/// one ends; it only decides and carries nothing out.
struct Segments {
    typealias Instant = ContinuousClock.Instant

    /// The rules for when a download is worth more than one connection.
    struct Settings: Sendable {
        /// The minimum size in bytes of each half of a divided segment.
        var bytesMin: Int64 = 4 << 20
        /// The time over which a rate is measured.
        var sampleInterval = SegmentRamp.sampleIntervalDefault
        /// The number of connections before anything was measured.
        var connectionsFirst = 1
    }

    /// The connection with which a download starts.
    static let lead = 0

    /// The change that follows from bytes that have arrived.
    struct Adjustment {
        /// The number of connections to add.
        var joins = 0
        /// The connections that are not worth keeping.
        var stops: [Int] = []
    }

    /// The range that a connection is to request.
    struct Assignment {
        let connection: Int
        let range: Range<Int64>
    }

    /// The step that follows when a connection has ended.
    enum Step {
        /// The connection continues with other bytes.
        case fetch(Assignment)
        /// The others continue without it.
        case leave
        /// The others must stop as well.
        case stop
        /// It was the last connection.
        case over(Outcome)
    }

    /// The outcome of the download.
    enum Outcome {
        /// Every byte is there.
        case whole(CurlSummary)
        /// Bytes are missing because of this error.
        case failed(CurlError)
        /// Bytes are missing, and the origin would send those of another file.
        case changed
    }

    /// The validator of the file, a strong entity tag.
    let etag: String
    /// The coding of the file; nil without one.
    private let coding: String?
    private let total: Int64
    private var plan: SegmentPlan
    private var ramp: SegmentRamp
    /// The connections that have brought bytes of their segment.
    private var flowing: Set<Int> = []
    /// The connections that have been told to stop.
    private var stopping: Set<Int> = []
    private var lastConnection = lead
    /// The number of promised slots: each was taken for a connection, but promised to others before
    /// that connection started.
    private var owed = 0
    private var nextJoin: Instant
    private let sampleInterval: Duration
    private var isStopped = false
    private var isChanged = false
    /// Whether the origin has answered a request for a part with that part.
    private var hasParts = false
    private var error = CurlError(.cancelled)
    /// The reason why the origin refuses further requests, if it gave one with an error.
    ///
    /// It tells why bytes are missing only as long as no connection brings more or breaks: an
    /// origin may refuse a second connection and serve the first one.
    private(set) var refusal: TransferFailure?
    /// The highest number of connections at once.
    private(set) var peak = 1

    /// Creates a download with the lead connection, whose response brings `range` and took
    /// `latency` to come; `triesAll` whether the first trial is with all connections.
    init(
        etag: String,
        coding: String?,
        total: Int64,
        written: ByteRangeSet,
        range: Range<Int64>,
        connectionsMax: Int,
        triesAll: Bool,
        settings: Settings,
        latency: Duration,
        at now: Instant
    ) {
        self.etag = etag
        self.coding = coding
        self.total = total
        plan = SegmentPlan(
            total: total,
            written: written,
            connection: Self.lead,
            range: range,
            segmentBytesMin: settings.bytesMin
        )
        ramp = SegmentRamp(
            connectionsFirst: settings.connectionsFirst,
            connectionsMax: connectionsMax,
            triesAll: triesAll,
            sampleInterval: settings.sampleInterval,
            latency: latency,
            bytes: written.count,
            at: now
        )
        nextJoin = now
        sampleInterval = settings.sampleInterval
    }

    /// The number of connections.
    var running: Int { plan.running }

    /// Whether another connection may join, now or later.
    var mayDivide: Bool { ramp.connectionsMax > 1 && plan.hasWork }

    /// Returns the position of a connection's next byte, and how many more it may bring.
    func place(of connection: Int) -> (offset: Int64, room: Int64)? {
        plan.position(of: connection).map { ($0, plan.room(of: connection)) }
    }

    /// Whether a response is exactly the requested part of the very same file (RFC 9110 §15.3.7);
    /// the tag must be there, for `If-Match` may have been ignored.
    mutating func accepts(_ head: ResponseHead, on connection: Int) -> Bool {
        guard !isStopped, let asked = plan.asked(of: connection) else { return false }
        let sent = head["Content-Range"].flatMap { ContentRange($0) }
        if head.status == 206, let sent, sent.range == asked, sent.total == total,
            head["ETag"].map({ Array($0.utf8) == Array(etag.utf8) }) ?? false,
            head.contentLength ?? asked.byteCount == asked.byteCount,
            // A part need not name the coding of the whole.
            head.coding == nil || head.coding == coding
        {
            hasParts = true
            plan.leave(Self.lead, to: connection)
            return true
        }
        // A redirect leads elsewhere, as when the URL has expired; it says nothing about the file.
        if head.status < 300 || head.status == 412 || head.status == 416 {
            isChanged = true
            // A connection that ends early cannot take back what another one is refused.
            plan.endDivision()
        } else {
            refusal = TransferFailure(head)
        }
        return false
    }

    /// Records that bytes of a connection were written.
    ///
    /// - Returns: whether its response is to be left because others fetch the rest.
    mutating func advance(_ connection: Int, by count: Int64) -> Bool {
        flowing.insert(connection)
        refusal = nil
        plan.advance(connection, by: count)
        // A response that brings all is not left for parts that may be refused.
        if connection == Self.lead, !hasParts { plan.overtake(connection) }
        return plan.isCut(connection)
    }

    /// Checks the pace of a file of which `bytes` are there.
    mutating func adjust(bytes: Int64, at now: Instant) -> Adjustment {
        guard !isStopped else { return Adjustment() }
        ramp.note(bytes: bytes, flowing: flowing.count, at: now)
        let count = running - stopping.count
        if count > ramp.target {
            let stops = newest(count - ramp.target)
            stopping.formUnion(stops)
            return Adjustment(stops: stops)
        }
        guard count < ramp.target, now >= nextJoin, plan.hasWork else { return Adjustment() }
        nextJoin = now + sampleInterval
        return Adjustment(joins: ramp.target - count)
    }

    /// Assigns work to another connection that has a slot.
    ///
    /// - Returns: nil when there is no work for it.
    mutating func join() -> Assignment? {
        guard owed == 0 else {
            owed -= 1
            return nil
        }
        guard !isStopped, running - stopping.count < ramp.target,
            let range = plan.assign(to: lastConnection + 1)
        else { return nil }
        lastConnection += 1
        peak = max(peak, running)
        return Assignment(connection: lastConnection, range: range)
    }

    /// Gives up a slot that another attempt needs.
    ///
    /// - Returns: the connection to stop; nil when the slot comes back without stopping one.
    mutating func yield() -> Int? {
        guard running - stopping.count > 1, let connection = newest(1).first else {
            owed += 1
            return nil
        }
        stopping.insert(connection)
        return connection
    }

    /// Stops the download: no further connections and no further bytes.
    mutating func stop() { isStopped = true }

    /// Allows no more connections than there are now.
    mutating func limit() { ramp.limit(to: running) }

    private func newest(_ count: Int) -> [Int] {
        Array(plan.connections.subtracting(stopping).sorted().suffix(count))
    }

    /// Handles the end of a connection.
    mutating func ended(_ connection: Int, _ result: Result<CurlSummary, CurlError>) -> Step {
        let isWhole = plan.end(connection)
        let wasStopped = stopping.remove(connection) != nil
        flowing.remove(connection)
        if plan.isWritten, running > 0, !isStopped {
            // The others would bring what is there.
            isStopped = true
            return .stop
        }
        if isWhole, !wasStopped, !isStopped, running - stopping.count < ramp.target,
            let range = plan.assign(to: connection)
        {
            return .fetch(Assignment(connection: connection, range: range))
        }
        if !isWhole, !wasStopped, !isStopped {
            // Each failure costs one connection, so that failures come to an end.
            ramp.limit(to: running)
            if case .failure(let error) = result {
                self.error = error
                // The response of a refused one was left on this side.
                if error.code != .aborted { refusal = nil }
            }
        }
        guard running == 0 else {
            guard isChanged, !isStopped else { return .leave }
            // What the origin may refuse to everybody else, a response that has begun still brings.
            plan.coverGaps()
            guard !plan.gaps.isEmpty else { return .leave }
            // No connection would bring the rest of this version.
            isStopped = true
            return .stop
        }
        if plan.isComplete { return .over(.whole(result.summary)) }
        return .over(isChanged ? .changed : .failed(error))
    }
}
