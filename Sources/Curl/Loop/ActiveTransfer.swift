import CCurl
import Foundation
import Glibc

/// One running transfer, with everything that libcurl's callbacks copy, count and decide.
///
/// It is confined to the loop's thread, where libcurl calls back.
final class ActiveTransfer {
    let id: UInt64
    let easy: EasyHandle
    let sink: any CurlSink
    let bounds: Bounds
    let egress: EgressGuard
    let group: UUID?
    /// The host of the URL.
    let host: String
    /// The way through a proxy; nil for a connection to the host itself.
    let route: ProxyRoute?
    /// Whether the host may be asked at all.
    private let isHostAllowed: Bool
    private let mayBegin: @Sendable () -> Bool
    private let bodySource: (any CurlBodySource)?
    /// Where pieces of the body are put together; nil when the sink takes them as they come.
    private let gatherer: PieceGatherer?

    /// The reason why we end the transfer, or nil when libcurl ends it.
    private(set) var cause: CurlError.Code?
    var lastActivity: ContinuousClock.Instant
    /// The time in which nobody could look at the transfer; it counts towards no timeout.
    private var excused = Duration.zero
    /// The time it took to find the host's addresses, before libcurl started.
    let lookupTime: Duration
    private(set) var head: ResponseHead?
    private(set) var bytesReceived: Int64 = 0
    private var headParser: HeadParser
    private var framing = FramingBound()
    /// Whether the sink drops the body, whose length then does not matter.
    private var isBodyDropped = false
    /// Where the sockets of all transfers are entered.
    let sockets: OpenSockets
    /// The sockets that were opened for this transfer.
    private(set) var openedSockets: [Int32] = []
    /// The socket of the connection, as libcurl told it last.
    var socket: Int32?
    /// The `errno` with which the last socket could not be made; 0 when none was refused.
    var socketError: Int32 = 0
    /// The connection of the request, and how much that had received before it.
    var connection: (place: OpenSockets.Connection, bytesBefore: Int64)?
    /// Whether it has connections of its own only.
    let isFresh: Bool
    /// Whether libcurl gives its connections to no other request, not even while it runs.
    let isAlone: Bool
    /// Whether libcurl may give it a connection that is in use.
    let offersHTTP2: Bool
    /// The same transfer on a connection of its own, as long as it may be needed; see
    /// ``needsFreshConnection``.
    var repetition: TransferStart?
    /// Whether the request was not sent because the kept connection for it is of no use: it has
    /// received bytes, or its end, since its last answer, or waits for one over HTTP/1, or leads
    /// where this transfer may not go, or nothing comes over it any more.
    private(set) var needsFreshConnection = false
    /// Where the answers of proxies are entered.
    let proxyAnswers: ProxyAnswers
    /// Whether the guard has denied an address of the host before there was a connection.
    private let isRouteNarrowed: Bool
    private var addressesAllowed = 0
    private var addressesDenied = 0
    /// Whether a connection was not opened because the transfer may no longer start.
    private(set) var isBeginRefused = false
    /// The watch on how long the origin takes to answer.
    private(set) var firstByte: FirstByteWatch
    /// The watch on how fast the body moves.
    var speed: SpeedWatch
    /// The pacing that holds each direction to its rate, with the directions that it has paused.
    var pacing: Pacing
    /// Whether a response with this version may be paused; see ``CurlRequest/HTTPVersion``.
    let canBePaused: Bool
    private var upload: Upload

    /// The settings of a request that are still needed while it runs.
    struct Bounds {
        let startedAt: ContinuousClock.Instant
        let connectTimeout: Duration
        let inactivityTimeout: Duration
        let totalTimeout: Duration?
        let bodyBytesMax: Int64
        let decodesBody: Bool
        let isHead: Bool
        /// Whether libcurl before 8.7 sends the body together with an HTTP/1.1 head.
        let hasSmallBody: Bool
    }

    /// - Parameters:
    ///   - id: names the transfer within its loop.
    ///   - start: what was asked for, and when.
    ///   - route: the way through a proxy, if there is one.
    ///   - easy: configured by the caller.
    ///   - sockets: where the transfer enters its sockets.
    ///   - proxyAnswers: where it enters that its proxy has answered.
    ///   - debtors: where the transfer enters itself when it must pause.
    ///   - gatherer: puts pieces of bodies together for sinks that want it.
    init(
        id: UInt64,
        _ start: TransferStart,
        route: ProxyRoute?,
        easy: EasyHandle,
        sockets: OpenSockets,
        proxyAnswers: ProxyAnswers,
        debtors: Debtors,
        gatherer: PieceGatherer
    ) {
        let request = start.request
        self.id = id
        self.easy = easy
        self.route = route
        self.sockets = sockets
        self.proxyAnswers = proxyAnswers
        isRouteNarrowed = start.isAddressDenied || route?.isAddressDenied ?? false
        isFresh = start.isFresh
        isAlone = !request.isReplayable
        offersHTTP2 = request.offersHTTP2
        repetition = start.isFresh ? nil : start.onFreshConnection
        sink = start.sink
        self.gatherer = start.sink.takesLargePieces ? gatherer : nil
        egress = request.egress
        host = start.url.host
        isHostAllowed = request.egress.allows(host: host, for: request.group)
        group = request.group
        mayBegin = request.mayBegin
        bodySource = request.bodySource
        let now = ContinuousClock.now
        lastActivity = start.since
        lookupTime = now - start.since
        bounds = Bounds(
            startedAt: start.since,
            connectTimeout: request.connectTimeout,
            inactivityTimeout: request.inactivityTimeout,
            totalTimeout: request.totalTimeout,
            bodyBytesMax: request.bodyBytesMax,
            decodesBody: request.decodesBody,
            isHead: request.method == "HEAD",
            hasSmallBody: (request.body?.count ?? .max) < 64 * 1024
        )
        firstByte = FirstByteWatch(timeout: request.firstByteTimeout)
        speed = SpeedWatch(limit: request.speedLimit)
        pacing = Pacing(request, debtors: debtors)
        upload = Upload(request)
        canBePaused = !request.offersHTTP2 || CurlLoop.libraryVersion.isHTTP2Sound
        headParser = HeadParser(bytesMax: request.headerBytesMax, linesMax: request.headerLinesMax)
    }

    /// Returns the timeout that has expired, or nil; starts the next period of ``speed``.
    func timeout(at now: ContinuousClock.Instant) -> CurlError.Timeout? {
        if let totalDeadline, totalDeadline <= now { return .total }
        if firstByte.isOverdue(at: now) { return .firstByte }
        if speed.isTooSlow(at: now) { return .lowSpeed }
        return inactivityDeadline(at: now) <= now ? .inactivity : nil
    }

    /// Returns when a timeout would next expire or might have started, if nothing happens.
    func deadline(at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        var deadline = inactivityDeadline(at: now)
        for other in [totalDeadline, firstByte.deadline(at: now), speed.deadline(at: now)] {
            if let other { deadline = min(deadline, other) }
        }
        return deadline
    }

    /// Returns when the origin has been inactive for too long; it is not while our own side waits.
    private func inactivityDeadline(at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        (pacing.isAwaiting ? now : lastActivity) + bounds.inactivityTimeout
    }

    private var totalDeadline: ContinuousClock.Instant? {
        bounds.totalTimeout.map { bounds.startedAt + $0 + excused }
    }

    /// Extends all timeouts by a time in which nobody could look at the transfer.
    func excuse(_ gap: Duration, at now: ContinuousClock.Instant) {
        excused += gap
        // A pause that a rate demands ends later anyway.
        lastActivity = max(lastActivity, min(now, lastActivity + gap))
        firstByte.excuse(gap, at: now)
        speed.excuse(gap, at: now)
        guard firstByte.requestStart == nil else { return }
        do throws(CurlError) {
            try easy.set(connectTimeout: bounds.connectTimeout - lookupTime + excused)
        } catch {
            // It then has the time that it had.
        }
    }

    /// Whether every address was denied, which is not the same failure as a refused connection.
    var isEgressDenied: Bool { addressesDenied > 0 && addressesAllowed == 0 }

    /// Whether an address of the host was denied.
    var isAddressDenied: Bool { isRouteNarrowed || addressesDenied > 0 }

    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        let now = ContinuousClock.now
        lastActivity = now
        let step = unsafe headParser.consume(line)
        if headParser.hasFinalStatus { firstByte.answered(at: now) }
        switch step {
        case .more:
            return true
        case .rejected:
            return end(.badResponse)
        case .informational(let head):
            sink.receive(informational: head)
            return true
        case .head(let head):
            self.head = head
            repetition = nil
            speed.begin(at: now)
            guard bounds.decodesBody else { return receive(head: head) }
            // The body is behind this line: nothing of it was decoded.
            guard head.isDecodable || !hasBody(head) else { return end(.badResponse) }
            return receive(head: head.decoded)
        }
    }

    private func receive(head: ResponseHead) -> Bool {
        switch sink.receive(head: head) {
        case .abort: return end(.aborted)
        case .discard: isBodyDropped = true
        case .proceed, .later:
            let length = bounds.isHead ? 0 : head.contentLength ?? 0
            if length > bounds.bodyBytesMax { return end(.bodyTooLarge) }
        }
        return true
    }

    /// The fate of a piece of the body.
    enum PieceOutcome {
        case taken
        /// libcurl keeps the piece, pauses, and delivers it again when resumed.
        case paused
        case ended
    }

    func receive(body: UnsafeRawBufferPointer) -> PieceOutcome {
        let now = ContinuousClock.now
        lastActivity = now
        guard pacing.mayReceive(self, at: now) else { return .paused }
        return unsafe take(body, at: now)
    }

    private func take(
        _ body: UnsafeRawBufferPointer,
        at now: ContinuousClock.Instant
    ) -> PieceOutcome {
        guard cause == nil else { return .ended }
        guard head != nil else { return ended(.badResponse) }
        guard isBodyDropped || Int64(body.count) <= bounds.bodyBytesMax - bytesReceived,
            !bounds.decodesBody || isDecodedWithinRatio(adding: body.count)
        else { return ended(.bodyTooLarge) }
        let total = bytesReceived + Int64(body.count)
        // A connection of HTTP/2 has frames of its own, and also carries others' responses.
        if let socket, head?.httpVersion.hasPrefix("1") ?? false,
            framing.isExceeded(on: socket, body: total, at: now)
        {
            return ended(.badResponse)
        }
        if let gatherer, total != head?.contentLength || body.count < total {
            guard unsafe gatherer.add(body, of: self, after: bytesReceived) else { return .ended }
        } else {
            switch unsafe sink.receive(body: body) {
            case .proceed, .discard: break
            case .later:
                pacing.awaitSink(of: self)
                return .paused
            case .abort: return ended(.aborted)
            }
        }
        bytesReceived = total
        speed.move(Int64(body.count))
        pacing.received(Int64(body.count), at: now)
        return .taken
    }

    /// Gives the sink a piece that was put together of those that were taken.
    ///
    /// - Returns: whether the transfer goes on.
    func deliver(_ piece: UnsafeRawBufferPointer) -> Bool {
        [.proceed, .discard].contains(unsafe sink.receive(body: piece)) || end(.aborted)
    }

    /// Returns whether the coded bytes so far may have become this many: few bytes can be made that
    /// decode to very many.
    private func isDecodedWithinRatio(adding count: Int) -> Bool {
        let decoded = bytesReceived + Int64(count)
        guard decoded > CurlRequest.decodedBytesFree else { return true }
        let coded = easy.offset(CURLINFO_SIZE_DOWNLOAD_T)
        return decoded / CurlRequest.decodingRatioMax <= coded
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        switch unsafe bodySource?.read(into: buffer) {
        case .bytes(let count) where (0...buffer.count).contains(count) && upload.mayRead(count):
            upload.read(count)
            return count
        case .later:
            pacing.awaitSource(of: self)
            return Int(CURL_READFUNC_PAUSE)
        case .bytes, .failed, nil:
            _ = end(.bodySourceFailed)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    func rewind() -> Bool {
        upload.restart()
        return bodySource?.rewind() ?? false
    }

    /// Notes bytes that were sent, for which libcurl has no callback of its own.
    func noteProgress(bytesSent: Int64) {
        let count = upload.send(upTo: bytesSent)
        guard count > 0 else { return }
        let now = ContinuousClock.now
        lastActivity = now
        speed.move(count)
        pacing.sent(count, by: self, at: now, isLast: upload.isWhole)
        guard upload.isWhole else { return }
        firstByte.bodySent(at: now)
        if head == nil { speed.end() }
    }

    func allowsConnection(to address: SocketAddress?) -> Bool {
        guard mayBegin() else {
            isBeginRefused = true
            return false
        }
        guard mayReach(address) else {
            addressesDenied += 1
            return false
        }
        addressesAllowed += 1
        return true
    }

    /// Returns whether a connection to `peer` may be used, and what is behind it asked.
    private func mayReach(_ peer: SocketAddress?) -> Bool {
        guard isHostAllowed, let peer else { return false }
        guard let route else { return egress.allows(peer, for: group) }
        return route.leads(through: peer) && egress.allows(route.target, for: group)
    }

    /// Notes a socket that was opened for this transfer.
    func opened(_ socket: Int32) {
        sockets.open(socket)
        openedSockets.append(socket)
    }

    /// Returns whether the request may use this connection, which may be new or kept.
    func allowsRequest(to peer: SocketAddress?, from local: SocketAddress?) -> Bool {
        // First: a connection of HTTP/2 stays open without this request, and has to be known.
        let isUsable = enterConnection(to: peer, from: local)
        noteProxyAnswer()
        guard mayBegin() else { return end(.cancelled) }
        guard mayReach(peer) else {
            // Others have opened a kept connection, to one address of several: this transfer may
            // reach another one, which is judged when it opens its own.
            return isFresh || !openedSockets.isEmpty ? end(.egressDenied) : leaveConnection()
        }
        guard isUsable else { return leaveConnection() }
        // The same request may start again when a kept connection turns out to be dead.
        upload.restart()
        let now = ContinuousClock.now
        firstByte.begin(at: now, sendsBody: !upload.isWhole)
        if !upload.isWhole { speed.begin(at: now) }
        return true
    }

    /// Leaves a kept connection, over which nothing was sent, and returns false.
    private func leaveConnection() -> Bool {
        // What libcurl has sent once, over a connection that broke, is not begun here again: its
        // times are running.
        needsFreshConnection = repetition != nil && firstByte.requestStart == nil
        return needsFreshConnection ? false : end(.connectionLost)
    }

    private func ended(_ code: CurlError.Code) -> PieceOutcome {
        _ = end(code)
        return .ended
    }

    /// Keeps the first reason and returns false, which makes libcurl end the transfer.
    private func end(_ code: CurlError.Code) -> Bool {
        if cause == nil { cause = code }
        return false
    }
}
