import NIOCore
import NIOHTTP1
import TransferWire

/// A handler that refuses heads about which this server and a proxy in front could disagree, and
/// marks those after which the connection ends.
///
/// It stands after the parser, which reads more than it should, and before the fields are
/// translated, which loses what is given twice.
final class HeadGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var hasRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasRefused else { return }
        guard case .head(var head) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        if let refusal = Self.refusal(of: head) {
            hasRefused = true
            return context.fireErrorCaught(refusal)
        }
        guard Self.isLast(head) else { return context.fireChannelRead(data) }
        // The server behind looks for this very value and no other.
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
    }

    /// Returns whether the connection ends after the request: as the client wishes (RFC 9112 §9.3),
    /// and because the parser reads nothing behind what may change the protocol.
    ///
    /// The request itself is answered as any other (RFC 9110 §7.8). Every `Upgrade` counts, also
    /// without the `Connection` that belongs to it: the parser alone decides what it stops at.
    private static func isLast(_ head: HTTPRequestHead) -> Bool {
        !head.isKeepAlive || head.method == .CONNECT || head.headers.contains(name: "Upgrade")
    }

    /// Returns what is wrong with a head (RFC 9112 §2.3, §3.2, §6.1), or takes too long to compare.
    static func refusal(of head: HTTPRequestHead) -> MalformedRequest? {
        guard head.version == .http1_1 || head.version == .http1_0 else {
            return MalformedRequest("Send HTTP/1.1.")
        }
        let hosts = head.headers["Host"]
        guard hosts.count == 1 || hosts.isEmpty && head.version == .http1_0 else {
            return MalformedRequest("Send the field `Host` once.")
        }
        if let host = hosts.first, !isHost(host) {
            return MalformedRequest("The field `Host` is a name or an address.")
        }
        // From here on, both are compared and hashed as texts.
        guard !CombiningMarks.areTooMany(in: head.uri),
            !head.headers.contains(where: { CombiningMarks.areTooMany(in: $0.value) })
        else {
            return MalformedRequest(
                "The target or a field has more than \(CombiningMarks.rowMax) combining marks "
                    + "in a row."
            )
        }
        guard head.headers.contains(name: "Transfer-Encoding") else { return nil }
        let codings = head.headers["Transfer-Encoding"]
        guard head.version == .http1_1, codings.count == 1, codings[0].lowercased() == "chunked",
            !head.headers.contains(name: "Content-Length")
        else {
            return MalformedRequest(
                "The only `Transfer-Encoding` is `chunked`, in HTTP/1.1 and without `Content-Length`."
            )
        }
        return nil
    }

    /// For each byte, whether a name or an address may have it.
    private static let hostBytes = (UInt8.min...UInt8.max).map { byte in
        (0x21...0x7E).contains(byte) && !"/?#@\\,\"<>{}|^`".utf8.contains(byte)
    }

    private static func isHost(_ text: String) -> Bool {
        let allowed = hostBytes
        return !text.isEmpty && text.utf8.allSatisfy { allowed[Int($0)] }
    }
}
