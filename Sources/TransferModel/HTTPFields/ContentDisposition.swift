/// The file names in the value of a `Content-Disposition` field (RFC 6266 §4).
///
/// Nothing is guessed: a value that breaks the grammar or repeats a parameter has no names,
/// because browsers disagree on its meaning. But a broken value of `filename*` costs nothing but
/// itself, and a sound one may have the characters that `encodeURIComponent` leaves as they are.
struct ContentDisposition {
    /// The value of `filename*`; nil when it is absent or its coding is broken.
    private(set) var extendedFileName: String?
    /// The value of `filename`; nil when it is absent.
    private(set) var fileName: String?

    init?(_ value: String) {
        var scanner = FieldValueScanner(value)
        scanner.skipSpace()
        guard scanner.token() != nil else { return nil }
        var names: Set<String> = []
        scanner.skipSpace()
        while scanner.take(";") {
            scanner.skipSpace()
            if let name = scanner.token()?.lowercased() {
                guard let value = Self.value(of: name, &scanner) else { return nil }
                guard !Self.telling.contains(name) || names.insert(name).inserted else {
                    return nil
                }
                take(name, value)
            }
            scanner.skipSpace()
        }
        guard scanner.isAtEnd else { return nil }
    }

    private static let telling: Set<String> = ["filename", "filename*"]

    private static func value(
        of name: String,
        _ scanner: inout FieldValueScanner
    ) -> (text: String, isQuoted: Bool)? {
        // RFC 2616 §2.1, the basis of RFC 6266's grammar, allows space around the sign.
        scanner.skipSpace()
        guard scanner.take("=") else { return nil }
        scanner.skipSpace()
        if let text = scanner.quotedString() { return (text, true) }
        guard name == "filename*" else { return scanner.token().map { ($0, false) } }
        let bytes = scanner.take { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "\"") }
        let end = bytes.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { $0 + 1 } ?? bytes.startIndex
        return (String(decoding: bytes[..<end], as: UTF8.self), false)
    }

    private mutating func take(_ name: String, _ value: (text: String, isQuoted: Bool)) {
        switch name {
        case "filename": fileName = value.text
        case "filename*" where !value.isQuoted: extendedFileName = Self.extended(value.text)
        default: break
        }
    }

    /// Decodes an ext-value: charset, language and escaped bytes (RFC 8187 §3.2.1).
    private static func extended(_ text: String) -> String? {
        let parts = Array(text.utf8).split(
            separator: UInt8(ascii: "'"),
            maxSplits: 2,
            omittingEmptySubsequences: false
        )
        guard parts.count == 3, parts[2].allSatisfy(isValueByte),
            let bytes = PercentDecoding.bytes(parts[2])
        else { return nil }
        return switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: nil
        }
    }

    /// Whether a byte is an attr-char of RFC 8187, the sign that begins an escape, or one of
    /// `'()*`, which many senders do not escape.
    private static func isValueByte(_ byte: UInt8) -> Bool {
        HTTPHeader.isTokenByte(byte) || "()".utf8.contains(byte)
    }
}
