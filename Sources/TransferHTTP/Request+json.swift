import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import TransferWire

extension Request {
    /// The longest body, in bytes: a thousand tasks with room for long URLs and client strings.
    static let bodyBytesMax = 16 * 1024 * 1024

    /// The bytes of the body, which is declared as JSON unless it is empty.
    func jsonBody() async throws -> [UInt8] {
        let announced = headers[.contentLength].flatMap(Int.init)
        if let announced, announced > Self.bodyBytesMax { throw Self.tooLarge }
        let bytes = try await collect()
        if let announced, announced != bytes.count { throw Self.incomplete }
        if !bytes.isEmpty || headers[.contentType] != nil { try checkMediaType() }
        return bytes
    }

    private func collect() async throws -> [UInt8] {
        do {
            let buffer = try await body.collect(upTo: Self.bodyBytesMax)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Self.tooLarge
        } catch let error as HTTPParserError {
            // The server itself answers broken framing and closes the connection.
            throw error
        } catch {
            throw Self.incomplete
        }
    }

    private func checkMediaType() throws(Problem) {
        let parts = (headers[.contentType] ?? "").lowercased().split(separator: ";")
            .map { $0.trimmed }
        let isJSON = parts.first == "application/json"
        let isUTF8 = parts.dropFirst().allSatisfy {
            $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" || !$0.hasPrefix("charset")
        }
        let isPlain = headers[.contentEncoding].map { $0.lowercased() == "identity" } ?? true
        guard isJSON, isUTF8, isPlain else {
            throw Problem(
                .unsupportedMediaType, "Send `application/json` in UTF-8, not compressed.")
        }
    }

    private static let incomplete = Problem(.malformedJSON, "The body is not complete.")
    private static let tooLarge = Problem(
        .bodyTooLarge, "A body may have \(bodyBytesMax) bytes.")
}

extension Substring {
    /// Without the spaces and tabs at both ends.
    var trimmed: Substring {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        var rest = self
        while let first = rest.first, isSpace(first) { rest.removeFirst() }
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }
}
