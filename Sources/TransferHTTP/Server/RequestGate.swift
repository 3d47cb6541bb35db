import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import TransferModel
import TransferWire

/// A handler that passes one request at a time, and notes when its answer has been sent.
///
/// It stands after the parser and works together with ``ConnectionGate``, which stands before it:
/// the bytes that the latter has passed to the parser may contain more than one request.
final class RequestGate: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The other gate, set while both are in the pipeline.
    var connection: ConnectionGate?
    /// The number of bytes left of the body; nil when its head does not give a length.
    private(set) var bodyBytesLeft: Int?
    private var held: [NIOAny] = []
    /// Whether parts of further requests are held.
    var isHolding: Bool { !held.isEmpty }
    private var context: ChannelHandlerContext?
    private var hasRefused = false
    /// Whether the connection ends after the request that was passed on last, by its head.
    private var isLast = false
    /// Whether the request that was passed on last has its whole answer.
    private var isAnswered = false

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        held = []
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if connection?.holdsInput ?? false || !held.isEmpty {
            held.append(data)
        } else {
            pass(data, context)
        }
    }

    /// Passes what was held, up to the end of the next request.
    func readOn() {
        guard let context else { return }
        var parts = held[...]
        while let part = parts.first, !(connection?.holdsInput ?? false) {
            parts.removeFirst()
            pass(part, context)
        }
        held = Array(parts)
    }

    /// Passes a part on as it came: to wrap it once more costs as much as to look at it.
    private func pass(_ part: NIOAny, _ context: ChannelHandlerContext) {
        switch unwrapInboundIn(part) {
        case .head(let request):
            bodyBytesLeft = request.headerFields.contentLength
            isLast = request.headerFields.value(of: .connection) == "close"
            isAnswered = false
            connection?.headRead()
        case .body(let bytes):
            bodyBytesLeft = bodyBytesLeft.map { $0 - bytes.readableBytes }
            connection?.bodyRead(bytes.readableBytes)
        case .end: connection?.requestRead()
        }
        context.fireChannelRead(part)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connection?.broke()
        guard let refusal = MalformedRequest(error) else { return context.fireErrorCaught(error) }
        // What the parser makes of the bytes behind a refused request.
        guard !hasRefused else { return }
        // The rest of a body whose request has an answer is owed no other one.
        if isAnswered, connection?.isReadingBody ?? false { return }
        guard let connection, connection.isBetweenRequests, held.isEmpty else {
            // The handler of the request in progress reads it in place of the rest of the body.
            isLast = true
            return context.fireErrorCaught(
                error is HTTPParserError ? error : HTTPParserError.unknown
            )
        }
        hasRefused = true
        answer(refusal, connection, context)
    }

    /// Answers a request of which no handler learns; the connection ends after that.
    private func answer(
        _ refusal: MalformedRequest,
        _ connection: ConnectionGate,
        _ context: ChannelHandlerContext
    ) {
        connection.headRead()
        connection.requestRead()
        let answer = APIResponder.document(
            of: Problem(refusal),
            requestID: UUID.version7().text
        )
        var fields = answer.fields
        fields[.contentLength] = "\(answer.body.count)"
        let head = HTTPResponse(
            status: HTTPResponse.Status(code: ProblemDetails.Code.malformedRequest.status),
            headerFields: fields
        )
        write(context: context, data: wrapOutboundOut(.head(head)), promise: nil)
        let body = context.channel.allocator.buffer(bytes: answer.body)
        write(context: context, data: wrapOutboundOut(.body(body)), promise: nil)
        write(context: context, data: wrapOutboundOut(.end(nil)), promise: nil)
        context.flush()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var answer):
            guard answer.status.kind != .informational else {
                return context.write(data, promise: promise)
            }
            let isClosing = answer.headerFields.value(of: .connection) == "close"
            connection?.answerBegins(closing: isLast || isClosing)
            guard isLast, !isClosing else { return context.write(data, promise: promise) }
            answer.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(answer)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            isAnswered = true
            let done = promise ?? context.eventLoop.makePromise()
            done.futureResult.assumeIsolated().whenComplete { [weak self] _ in
                self?.connection?.answerOut()
            }
            context.write(data, promise: done)
        }
    }
}
