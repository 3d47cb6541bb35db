import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import TransferWire

extension Request {
    /// The maximum length of a body in bytes: a thousand tasks with room for long URLs and client
    /// strings.
    static let bodyBytesMax = 16 * 1024 * 1024

    /// The maximum number of bytes of a refused body that are still read and thrown away.
    ///
    /// Many clients write the whole body before they read the answer; they would wait for the idle
    /// timeout and never learn what was wrong.
    static let discardedBytesMax = 4 * bodyBytesMax

    /// The media type of a change (RFC 7396), which PATCH also takes as plain JSON.
    private static let mergePatchType = "application/merge-patch+json"

    /// Whether the client sends a body, by its head (RFC 9112, §6.3).
    var bringsBody: Bool {
        headers.contains(.transferEncoding) || headers.contentLength ?? 0 > 0
    }

    /// Returns the bytes of the body, which must be declared as JSON unless it is empty.
    ///
    /// - Parameter other: another type of the operation, not read here; a refusal names it.
    /// - Returns: the bytes, of which there may be none.
    /// - Throws: ``Problem`` for a body that is not complete, too large or of another type.
    func jsonBody(or other: String? = nil) async throws -> [UInt8] {
        let bytes = try await collect()
        await RequestResources.current?.beginWork()
        if let announced = headers.contentLength, announced != bytes.count {
            throw Self.incomplete
        }
        if !bytes.isEmpty || headers.contains(.contentType) {
            let isChange = method == .patch && hasMediaType(Self.mergePatchType)
            try checkMediaType(isChange ? Self.mergePatchType : "application/json", or: other)
        }
        return bytes
    }

    /// Returns whether the body is declared as `type`, with any parameters.
    func hasMediaType(_ type: String) -> Bool { parameters(ofMediaType: type) != nil }

    /// Returns the parameters of the body's media type in lower case; nil unless that is `type`
    /// (RFC 9110 §8.3).
    private func parameters(ofMediaType type: String) -> ArraySlice<Substring>? {
        let declared = headers.value(of: .contentType) ?? ""
        // As nearly all clients send it.
        if declared == type { return [] }
        guard declared.utf8.count >= type.utf8.count else { return nil }
        let parts = declared.lowercased().utf8.split(separator: UInt8(ascii: ";"))
            .map { Substring($0).trimmed }
        return parts.first.map { $0 == type } ?? false ? parts.dropFirst() : nil
    }

    /// Checks the media type of the body.
    ///
    /// - Throws: ``Problem`` unless the body is declared as plain `type` in UTF-8.
    func checkMediaType(_ type: String, or other: String? = nil) throws(Problem) {
        let parameters = parameters(ofMediaType: type)
        let isUTF8 =
            parameters?.allSatisfy {
                $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" || !$0.hasPrefix("charset")
            } ?? false
        let isPlain =
            headers.value(of: .contentEncoding).map { $0.lowercased() == "identity" } ?? true
        guard isUTF8, isPlain else {
            let types = "`\(type)`" + (other.map { " or `\($0)`" } ?? "")
            throw Problem(.unsupportedMediaType, "Send \(types) in UTF-8, not compressed.")
        }
    }

    private func collect() async throws -> [UInt8] {
        let resources = RequestResources.current
        let announced = headers.contentLength
        // At once, before the client sends them.
        guard announced ?? 0 <= Self.bodyBytesMax else { throw Self.tooLarge }
        var collector = BodyCollector(resources)
        collector.refusal = await refusal(ofBytes: announced ?? 0, resources)
        if collector.refusal == nil { collector.bytes.reserveCapacity(announced ?? 0) }
        var chunks = body.makeAsyncIterator()
        let small = RequestResources.smallBodyBytesMax
        do {
            if announced ?? 0 <= small { try await collector.take(from: &chunks, upTo: small) }
            if !collector.isComplete {
                try await RequestResources.gathering { try await collector.take(from: &chunks) }
            }
        } catch let error as HTTPParserError where !error.isEarlyEnd {
            // The server itself answers broken framing and closes the connection.
            throw error
        } catch {
            throw Self.incomplete
        }
        if let refusal = collector.refusal { throw refusal }
        return collector.bytes
    }

    /// Returns the problem with a body of so many bytes, before any of it is read.
    ///
    /// If several bodies were read at once, each would hold a part of the room that one needs as a
    /// whole.
    private func refusal(ofBytes count: Int, _ resources: RequestResources?) async -> Problem? {
        do throws(Problem) {
            try await resources?.awaitRoom(forBytes: count)
            return nil
        } catch {
            return error
        }
    }

    static let incomplete = Problem(.incompleteBody, "It broke off; send the request again.")
    fileprivate static let tooSlow = Problem(.incompleteBody, "It came too slowly; send it again.")
    fileprivate static let tooLarge = Problem(
        .bodyTooLarge,
        "A body may have at most \(bodyBytesMax) bytes."
    )
}

/// Returns the value of a body, or throws the problem with it; a large one is decoded where it
/// delays no other request.
func decoded<Value: Decodable & Sendable>(
    _ type: Value.Type,
    from body: [UInt8]
) async throws -> Value {
    try await RequestResources.decoding(body.count) {
        do throws(WireDecoder.Failure) {
            return try WireDecoder.decode(type, from: body)
        } catch {
            throw Problem(error)
        }
    }
}

/// The bytes of a body that have arrived, or why they are not wanted.
private struct BodyCollector {
    var bytes: [UInt8] = []
    var refusal: Problem?
    private(set) var isComplete = false
    private var count = 0
    private let resources: RequestResources?
    private let deadline: ContinuousClock.Instant

    init(_ resources: RequestResources?) {
        self.resources = resources
        deadline = .now + (resources?.bodyTimeout ?? .seconds(60))
    }

    /// Takes chunks until the body is complete or has more than `limit` bytes.
    mutating func take(
        from chunks: inout RequestBody.AsyncIterator,
        upTo limit: Int = .max
    ) async throws {
        while count <= limit, !isComplete {
            guard let chunk = try await chunks.next() else {
                isComplete = true
                return
            }
            take(chunk)
        }
    }

    private mutating func take(_ chunk: ByteBuffer) {
        count += chunk.readableBytes
        if count > Request.bodyBytesMax { refusal = Request.tooLarge }
        if refusal == nil, deadline <= .now { refusal = Request.tooSlow }
        if refusal == nil {
            do throws(Problem) {
                try resources?.holdBody(ofBytes: count)
                bytes += chunk.readableBytesView
            } catch {
                refusal = error
            }
        }
        guard refusal != nil else { return }
        bytes = []
        resources?.body.shrink(to: 0)
        // What else comes is left to the connection.
        if count > Request.discardedBytesMax { isComplete = true }
    }
}

extension Substring {
    /// The text without the spaces and tabs at both ends.
    var trimmed: Substring {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = utf8.drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return Substring(rest)
    }
}
