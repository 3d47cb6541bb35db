import Crypto
import HTTPTypes
import Hummingbird

/// The `Idempotency-Key` of a request whose body is stored in parts, each under its own key.
///
/// The first part has the request's key, so that the key is refused for any other request. The keys
/// of the other parts begin with NUL, which no client can send.
struct PartIdempotency: Sendable {
    private let key: [UInt8]
    private let head: SHA256

    /// Reads the key of a request.
    ///
    /// - Returns: nil when the request has no key.
    /// - Throws: ``Problem`` for a key of any other form.
    init?(_ request: Request) throws(Problem) {
        guard let key = try IdempotencyKey.key(of: request) else { return nil }
        self.key = key
        var hash = IdempotencyKey.hash(of: request)
        // A JSON body may have the same bytes, but its answer has another form.
        hash.update(data: Array("\(TaskStream.mediaType)\0".utf8))
        head = hash
    }

    /// Returns the key of the part with this number, from 0, and these lines of so many bytes.
    ///
    /// - Throws: ``Problem`` for a large part whose turn does not come in time.
    func key(
        ofPart number: Int,
        lines: [TaskLines.Line],
        _ byteCount: Int
    ) async throws -> IdempotencyKey {
        let requestSHA256 = try await RequestResources.decoding(byteCount) { [head] in
            var hash = head
            for line in lines {
                hash.update(data: line.bytes)
                hash.update(data: [UInt8(ascii: "\n")])
            }
            return Array(hash.finalize())
        }
        var partKey = key
        if number > 0 {
            partKey = [0] + SHA256.hash(data: key + Array("\0\(number)".utf8))
        }
        return IdempotencyKey(key: partKey, requestSHA256: requestSHA256)
    }
}
