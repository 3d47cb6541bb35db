import Hummingbird
import NIOCore
import NIOHTTP1

/// A handler that passes the bytes of one request at a time to the parser, and ends a connection
/// when expected data does not arrive or is not taken.
///
/// It stands before the parser. Requests that a client sends before it has taken an earlier answer
/// stay with the client, except for the bytes of one read: without this, every such request is
/// answered into memory. The parser gets the bytes of that one read in slices, because a parsed
/// head is many times as large as its bytes.
final class ConnectionGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The maximum number of bytes in one read.
    static let readBytesMax = 32 * 1024
    /// The slices that the parser gets at once: of heads, and of bodies of unknown length.
    private static let headSliceBytes = 512
    private static let chunkedSliceBytes = 4096
    /// The maximum number of bytes accepted without having asked for them: those left before a
    /// client's last byte, which the kernel delivers as a whole.
    private static let unaskedBytesMax = 8 * 1024 * 1024

    /// The maximum number of bytes of a body that are no content: at its start, which leaves room
    /// for a slice that is not passed on yet, and for each byte of content; a chunk of one byte has
    /// five.
    private static let framingBytesMax = 64 * 1024
    private static let framingBytesPerByteMax = 8

    private let registry: ConnectionRegistry
    private let requests: RequestGate
    private var bounds: ConnectionBounds { registry.bounds }
    private var context: ChannelHandlerContext?
    private var machine = ConnectionStateMachine()
    private var isFirst = true
    private var headTimeout: Duration

    private var held = ByteBuffer()
    private var isFeeding = false
    private var isReadWanted = false
    /// Whether the client sends nothing more, and whether the handlers behind have been told.
    private var isInputClosed = false
    private var isInputClosedTold = false
    /// What is asked of the client, and how fast the current body comes.
    private var pace = BodyPace()
    private var unaskedBytes = 0
    /// The bytes of the current body that are no framing; what the parser reads as extensions of
    /// chunks is.
    private var contentBytes = 0
    /// The bytes discarded at the end.
    private var discardedBytes = 0

    private var stateSince = ContinuousClock.now
    private var pendingWrites = 0
    private var wroteAt = ContinuousClock.now
    private var closesAfterAnswer = false
    private var timer: Scheduled<Void>?
    private var timerAt: ContinuousClock.Instant?

    init(registry: ConnectionRegistry, requests: RequestGate) {
        self.registry = registry
        self.requests = requests
        headTimeout = registry.bounds.headTimeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        requests.connection = self
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        self.context = nil
        requests.connection = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let admission = registry.admit(channel) {
            channel.eventLoop.execute { loopBound.value.closeIfWaiting() }
        }
        context.fireChannelActive()
        switch admission {
        case .all: break
        case .healthOnly: headTimeout = bounds.reserveHeadTimeout
        case .none: return context.close(promise: nil)
        }
        stateSince = .now
        setTimer()
    }

    func channelInactive(context: ChannelHandlerContext) {
        registry.remove(context.channel)
        timer?.cancel()
        timer = nil
        held.clear()
        context.fireChannelInactive()
    }

    private func closeIfWaiting() {
        guard machine.isWaiting else { return }
        context?.close(promise: nil)
    }
}

extension ConnectionGate {
    /// Passes on the wish for bytes unless some are held.
    ///
    /// While a request is answered, too: stopping and asking again costs two system calls a
    /// request, and a client that waits for its answer sends nothing.
    func read(context: ChannelHandlerContext) {
        guard held.readableBytes == 0 else {
            isReadWanted = true
            return
        }
        isReadWanted = false
        pace.ask(at: .now)
        setTimer()
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if pace.endAsking(isBody: machine.isReadingBody, at: .now) {
            unaskedBytes = 0
        } else {
            unaskedBytes += bytes.readableBytes
            guard unaskedBytes <= Self.unaskedBytesMax else {
                return context.close(promise: nil)
            }
        }
        if machine.isClosing {
            discardedBytes += bytes.readableBytes
            if discardedBytes > Request.discardedBytesMax { context.close(promise: nil) }
            return
        }
        if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
        feed(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if machine.isClosing { askForRest(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputClosed = true
        pace.endAsking(isBody: machine.isReadingBody, at: .now)
        if machine.isClosing { closeIfDone(context) } else { passInputClosed(context) }
    }

    /// Reports the end of the input, after everything that came before it.
    private func passInputClosed(_ context: ChannelHandlerContext) {
        guard isInputClosed, !isInputClosedTold, held.readableBytes == 0, !requests.isHolding
        else { return }
        isInputClosedTold = true
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    /// Passes to the parser the bytes that it may have now.
    private func feed(_ context: ChannelHandlerContext) {
        guard !isFeeding else { return }
        isFeeding = true
        defer { isFeeding = false }
        while held.readableBytes > 0, !machine.holdsInput, !machine.isClosing {
            let count = min(held.readableBytes, sliceBytes)
            guard let slice = held.readSlice(length: count) else { break }
            if machine.bytesArrived() {
                // The time of a new connection counts from its accept.
                if !isFirst { stateSince = .now }
            }
            if machine.isReadingBody { pace.add(count) }
            context.fireChannelRead(Self.wrapInboundOut(slice))
            guard !machine.isReadingBody || !hasTooMuchFraming else {
                held.clear()
                return context.fireErrorCaught(HTTPParserError.invalidChunkSize)
            }
        }
        if held.readableBytes == 0 { held = ByteBuffer() }
        passInputClosed(context)
        setTimer()
    }

    /// Whether a body comes with more framing than any client needs, as in extensions of chunks,
    /// which are bounded nowhere else.
    private var hasTooMuchFraming: Bool {
        pace.byteCount - contentBytes
            > Self.framingBytesMax + Self.framingBytesPerByteMax * contentBytes
    }

    private var sliceBytes: Int {
        guard machine.isReadingBody else { return Self.headSliceBytes }
        guard let rest = requests.bodyBytesLeft else { return Self.chunkedSliceBytes }
        return max(1, rest)
    }

    private func readOn(_ context: ChannelHandlerContext) {
        feed(context)
        // No earlier input asks for the bytes any more.
        context.fireChannelReadComplete()
        if isReadWanted { read(context: context) }
    }
}

extension ConnectionGate {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let done = promise ?? context.eventLoop.makePromise()
        pendingWrites += 1
        if pendingWrites == 1 {
            wroteAt = .now
            setTimer()
        }
        done.futureResult.assumeIsolated().whenComplete { [self] _ in
            pendingWrites -= 1
            wroteAt = .now
            guard pendingWrites == 0, machine.isClosing, let context = self.context else { return }
            stateSince = .now
            setTimer()
            closeIfDone(context)
        }
        context.write(data, promise: done)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        beginClosing(context)
        context.close(mode: mode, promise: promise)
        closeIfDone(context)
    }

    /// Begins to close: from now on, input is read and discarded.
    ///
    /// If the socket were closed at once with unread bytes, the client would lose the answer.
    private func beginClosing(_ context: ChannelHandlerContext) {
        guard !machine.isClosing else { return }
        machine.close()
        registry.setWaiting(context.channel)
        held.clear()
        stateSince = .now
        setTimer()
        askForRest(context)
    }

    /// Asks for what the client still sends, which is discarded.
    ///
    /// The handlers behind may ask no more: a server that has answered the last request of a
    /// connection takes nothing of its body.
    private func askForRest(_ context: ChannelHandlerContext) {
        guard !isInputClosed else { return }
        pace.ask(at: .now)
        context.read()
    }

    /// Closes the connection when both sides have sent everything.
    private func closeIfDone(_ context: ChannelHandlerContext) {
        if isInputClosed, pendingWrites == 0 { context.close(promise: nil) }
    }
}

/// What the gate after the parser calls.
extension ConnectionGate {
    var holdsInput: Bool { machine.holdsInput }
    var isReadingBody: Bool { machine.isReadingBody }
    /// Whether no request is being read or answered.
    var isBetweenRequests: Bool { machine.isWaiting && !machine.isClosing }

    func headRead() {
        machine.headRead()
        isFirst = false
        pace.headRead(at: .now)
        contentBytes = 0
        if let context { registry.setBusy(context.channel) }
    }

    /// Notes that the parser has passed on so many bytes of a body.
    func bodyRead(_ count: Int) { contentBytes += count }

    func requestRead() {
        if machine.requestRead() { exchangeEnded() }
        setTimer()
    }

    /// Notes that the head of an answer is being sent.
    func answerBegins(closing: Bool) { closesAfterAnswer = closesAfterAnswer || closing }

    /// Notes that the kernel has the last byte of an answer.
    func answerOut() {
        let action = machine.answerOut()
        guard let context else { return }
        if closesAfterAnswer, action != .nothing {
            return context.pipeline.syncOperations.close(mode: .output, promise: nil)
        }
        switch action {
        case .readOn:
            exchangeEnded()
            requests.readOn()
            readOn(context)
        case .readRest, .nothing: break
        }
    }

    /// Notes that the input cannot be parsed; the server answers that, unless the request has its
    /// answer, and ends the connection.
    func broke() {
        closesAfterAnswer = true
        guard machine.isReadingRest, let context else { return }
        context.pipeline.syncOperations.close(mode: .output, promise: nil)
    }

    private func exchangeEnded() {
        stateSince = .now
        if let context { registry.setWaiting(context.channel) }
    }
}

extension ConnectionGate {
    /// The next time at which the connection may have to end.
    private var deadline: ContinuousClock.Instant? {
        let write = pendingWrites > 0 ? wroteAt + bounds.writeTimeout : nil
        let read: ContinuousClock.Instant? =
            if machine.isClosing {
                pendingWrites > 0 ? nil : stateSince + bounds.closeTimeout
            } else if machine.isReadingHead || (machine.isWaiting && isFirst) {
                stateSince + headTimeout
            } else if machine.isWaiting {
                stateSince + bounds.idleTimeout
            } else if machine.isReadingBody {
                pace.deadline(bounds)
            } else {
                nil
            }
        guard let write, let read else { return write ?? read }
        return min(write, read)
    }

    private func setTimer() {
        guard let context, context.channel.isActive, let deadline else { return }
        if let timerAt, timer != nil, timerAt <= deadline { return }
        timer?.cancel()
        timerAt = deadline
        timer = context.eventLoop.assumeIsolated().scheduleTask(
            in: TimeAmount(max(.milliseconds(1), deadline - .now))
        ) { [self] in
            timer = nil
            guard let deadline = self.deadline else { return }
            if deadline <= .now { self.context?.close(promise: nil) } else { setTimer() }
        }
    }
}
