import CCurl
import Glibc

/// One running transfer: what libcurl's callbacks copy, count and decide.
///
/// Confined to the loop's thread, where libcurl calls back.
final class ActiveTransfer {
    let id: UInt64
    let easy: EasyHandle
    let sink: any CurlSink
    let bounds: Bounds
    private let egress: EgressGuard
    private let bodySource: (any CurlBodySource)?

    /// Why we end the transfer, when it is not libcurl that does.
    private(set) var cause: CurlError.Code?
    private(set) var lastActivity: ContinuousClock.Instant
    private(set) var head: ResponseHead?
    private(set) var bytesReceived: Int64 = 0
    private var headParser: HeadParser
    private var addressesAllowed = 0
    private var addressesDenied = 0
    private var bytesMoved: Int64 = 0

    /// The numbers of a request that are still needed while it runs.
    struct Bounds {
        let startedAt: ContinuousClock.Instant
        let inactivityTimeout: Duration
        let totalTimeout: Duration?
        let bodyBytesMax: Int64
        let isHead: Bool
    }

    init(id: UInt64, request: CurlRequest, easy: EasyHandle, sink: any CurlSink) {
        self.id = id
        self.easy = easy
        self.sink = sink
        egress = request.egress
        bodySource = request.bodySource
        let now = ContinuousClock.now
        lastActivity = now
        bounds = Bounds(
            startedAt: now,
            inactivityTimeout: request.inactivityTimeout,
            totalTimeout: request.totalTimeout,
            bodyBytesMax: request.bodyBytesMax,
            isHead: request.method == "HEAD"
        )
        headParser = HeadParser(bytesMax: request.headerBytesMax, linesMax: request.headerLinesMax)
    }

    /// Which time has run out, if any.
    func timeout(at now: ContinuousClock.Instant) -> CurlError.Timeout? {
        if let total = bounds.totalTimeout, bounds.startedAt + total <= now { return .total }
        return lastActivity + bounds.inactivityTimeout <= now ? .inactivity : nil
    }

    /// When a time would next run out if nothing happened.
    var deadline: ContinuousClock.Instant {
        let inactive = lastActivity + bounds.inactivityTimeout
        guard let total = bounds.totalTimeout else { return inactive }
        return min(inactive, bounds.startedAt + total)
    }

    /// Whether no address was allowed at all, which is another failure than a refused connection.
    var isEgressDenied: Bool { addressesDenied > 0 && addressesAllowed == 0 }

    // MARK: What the callbacks do

    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        lastActivity = .now
        switch unsafe headParser.consume(line) {
        case .more:
            return true
        case .rejected:
            return end(.badResponse)
        case .head(let head):
            self.head = head
            if let length = head.contentLength, length > bounds.bodyBytesMax, !bounds.isHead {
                return end(.bodyTooLarge)
            }
            return sink.receive(head: head) == .proceed || end(.aborted)
        }
    }

    func receive(body: UnsafeRawBufferPointer) -> Bool {
        lastActivity = .now
        guard head != nil else { return end(.badResponse) }
        guard Int64(body.count) <= bounds.bodyBytesMax - bytesReceived else {
            return end(.bodyTooLarge)
        }
        bytesReceived += Int64(body.count)
        return unsafe sink.receive(body: body) == .proceed || end(.aborted)
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let count = unsafe bodySource?.read(into: buffer), (0...buffer.count).contains(count)
        else {
            _ = end(.bodySourceFailed)
            return Int(CURL_READFUNC_ABORT)
        }
        return count
    }

    func rewind() -> Bool { bodySource?.rewind() ?? false }

    /// Notes bytes that were sent, for which libcurl has no callback of its own.
    func noteProgress(bytesMoved: Int64) {
        guard bytesMoved != self.bytesMoved else { return }
        self.bytesMoved = bytesMoved
        lastActivity = .now
    }

    func allowsConnection(to address: SocketAddress?) -> Bool {
        guard let address, egress.allows(address) else {
            addressesDenied += 1
            return false
        }
        addressesAllowed += 1
        return true
    }

    /// Judges the connection that the request is about to use, new or kept.
    func allowsRequest(to address: SocketAddress?) -> Bool {
        guard let address, egress.allows(address) else { return end(.egressDenied) }
        return true
    }

    /// Keeps the first reason and says no, which ends the transfer when told to libcurl.
    private func end(_ code: CurlError.Code) -> Bool {
        if cause == nil { cause = code }
        return false
    }
}
