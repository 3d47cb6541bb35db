import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// A writer that passes on a body in pieces, each after the kernel has taken the one before.
///
/// The writer of the server returns as soon as it has queued its input, if the connection had room
/// when it last looked: for a client that reads nothing, the whole answer would stay in memory.
struct PacedBodyWriter: ResponseBodyWriter {
    /// The number of bytes that a client must take within ``ConnectionBounds/writeTimeout``, or its
    /// connection is given up.
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
                // A write to a client that has stopped reading would never return.
                channel.close(promise: nil)
            }
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.finish(trailingHeaders)
    }
}

extension ResponseBody {
    /// Returns this body, written at the pace at which the client takes it; `share` is held until
    /// then.
    func paced(on channel: any Channel, holding share: BudgetShare) -> ResponseBody {
        // A small body is written together with its head.
        if let contentLength, contentLength <= PacedBodyWriter.pieceBytes { return self }
        return ResponseBody(contentLength: contentLength) { writer in
            try await write(PacedBodyWriter(writer, on: channel))
            withExtendedLifetime(share) {}
        }
    }
}
