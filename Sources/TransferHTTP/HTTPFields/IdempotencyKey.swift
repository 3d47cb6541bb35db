import TransferWire
import Crypto
import HTTPTypes
import Hummingbird
import TransferStore

/// The `Idempotency-Key` of a request, with a fingerprint of what the request asks for.
///
/// The field is a structured-field string by draft-ietf-httpapi-idempotency-key-header; a bare
/// token is accepted too, because that is what most clients send.
struct IdempotencyKey: Sendable {
    /// The maximum length of a key in bytes.
    static let bytesMax = 255

    let key: [UInt8]
    let requestSHA256: [UInt8]

    /// Reads the key of a request.
    ///
    /// - Returns: nil when the request has no key.
    /// - Throws: ``Problem`` for a key of any other form, and for a large body whose turn does not
    ///   come in time.
    init?(_ request: Request, body: [UInt8]) async throws {
        guard let key = try Self.key(of: request) else { return nil }
        self.key = key
        let head = Self.hash(of: request)
        requestSHA256 = try await RequestResources.decoding(body.count) {
            var hash = head
            hash.update(data: body)
            return Array(hash.finalize())
        }
    }

    init(key: [UInt8], requestSHA256: [UInt8]) {
        self.key = key
        self.requestSHA256 = requestSHA256
    }

    static func key(of request: Request) throws(Problem) -> [UInt8]? {
        guard let field = request.headers.value(of: .idempotencyKey) else { return nil }
        guard let key = parse(Array(field.utf8)) else {
            throw Problem(
                .invalidIdempotencyKey,
                "Must be a quoted string or a token of 1 to \(bytesMax) ASCII characters."
            )
        }
        return key
    }

    /// Returns the hash of the part of a fingerprint that precedes the body.
    static func hash(of request: Request) -> SHA256 {
        var hash = SHA256()
        // The query names the client of the session.
        let query = request.uri.query.map { "?\($0)" } ?? ""
        // The lease of a submission is as much what it asks for as its tasks.
        let lease = [HTTPField.Name.leaseToken, .leaseSeconds, .leaseOwner].map { name in
            request.headers.value(of: name) ?? ""
        }
        // NUL occurs in none of these, so no two requests run together.
        let parts = [request.method.rawValue, "\(request.uri.path)\(query)"] + lease
        for part in parts { hash.update(data: Array("\(part)\0".utf8)) }
        return hash
    }

    /// Returns the record under which `answer` is kept.
    func record(of answer: Answer) -> IdempotencyRecord {
        IdempotencyRecord(key: key, requestSHA256: requestSHA256, response: answer.stored)
    }

    /// Returns the key in a field value, or nil when it is malformed.
    static func parse(_ field: [UInt8]) -> [UInt8]? {
        let key = field.first == UInt8(ascii: "\"") ? unquoted(field) : token(field)
        guard let key, (1...bytesMax).contains(key.count) else { return nil }
        return key
    }

    /// Returns the text of a string: printable ASCII, with backslashes only before quotes and
    /// backslashes (RFC 9651 §3.3.3).
    private static func unquoted(_ field: [UInt8]) -> [UInt8]? {
        guard field.count >= 2, field.last == UInt8(ascii: "\"") else { return nil }
        var key: [UInt8] = []
        var isEscaped = false
        for byte in field.dropFirst().dropLast() {
            let needsEscape = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            guard (0x20...0x7E).contains(byte), !isEscaped || needsEscape else { return nil }
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
            } else {
                guard isEscaped || !needsEscape else { return nil }
                key.append(byte)
                isEscaped = false
            }
        }
        return isEscaped ? nil : key
    }

    /// Returns a token: visible ASCII without separators of members and parameters of structured
    /// fields.
    private static func token(_ field: [UInt8]) -> [UInt8]? {
        let isToken = field.allSatisfy { byte in
            (0x21...0x7E).contains(byte) && !"\",;\\".utf8.contains(byte)
        }
        return isToken ? field : nil
    }
}
