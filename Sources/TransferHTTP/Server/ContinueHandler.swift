import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// A handler that tells a waiting client to send its body (RFC 9110 §10.1.1).
///
/// curl asks so before every larger body and then sends nothing for a second: without this handler,
/// each batch of tasks would take that second.
final class ContinueHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data),
            head.headerFields.value(of: .expect)?.lowercased() == "100-continue",
            Self.mayBeRead(head)
        {
            let interim = HTTPResponse(status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(interim)), promise: nil)
        }
        context.fireChannelRead(data)
    }

    /// Returns whether a body of the announced length may be accepted: only the bytes of an upload,
    /// which are put, may be more than a document.
    private static func mayBeRead(_ head: HTTPRequest) -> Bool {
        let announced = head.headerFields.contentLength ?? 0
        return announced <= Request.bodyBytesMax || head.method == .put
    }
}
