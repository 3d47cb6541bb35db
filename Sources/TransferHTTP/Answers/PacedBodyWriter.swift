import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// Writes a body a piece at a time, each when the one before is with the kernel.
///
/// The writer of the server returns as soon as it has queued what it is given, as long as the
/// connection had room when it last looked: a client that reads nothing would have the whole answer
/// in memory.
struct PacedBodyWriter: ResponseBodyWriter {
    /// A client takes so many bytes within ``ConnectionBounds/writeTimeout``, or is given up.
    static let pieceBytes = 64 * 1024

    let channel: any Channel
    private let parent: any ResponseBodyWriter

    init(_ parent: any ResponseBodyWriter, on channel: any Channel) {
        self.parent = parent
        self.channel = channel
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while rest.readableBytes > 0 {
            let count = min(rest.readableBytes, Self.pieceBytes)
            guard let piece = rest.readSlice(length: count) else { return }
            try Task.checkCancellation()
            try await withTaskCancellationHandler {
                try await channel.writeAndFlush(HTTPResponsePart.body(piece)).get()
            } onCancel: { [channel] in
                // The write of a client that has stopped reading would never return.
                channel.close(promise: nil)
            }
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.finish(trailingHeaders)
    }
}

extension ResponseBody {
    /// The same, written at the pace at which the client takes it; `share` is held as long.
    func paced(on channel: any Channel, holding share: BudgetShare) -> ResponseBody {
        // Small ones are written with their head at once.
        if let contentLength, contentLength <= PacedBodyWriter.pieceBytes { return self }
        return ResponseBody(contentLength: contentLength) { writer in
            try await write(PacedBodyWriter(writer, on: channel))
            withExtendedLifetime(share) {}
        }
    }
}
