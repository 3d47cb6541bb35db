/// A scanner that reads a header field's value from left to right in the terms of RFC 9110 §5.6.
///
/// It works on bytes: as a `Character`, a separator followed by a combining mark is no separator.
struct FieldValueScanner {
    private var rest: ArraySlice<UInt8>

    init(_ value: String) { rest = Array(value.utf8)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next byte, which is not consumed.
    var next: UInt8? { rest.first }

    /// Skips spaces and tabs.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    mutating func skipSpace() -> Bool {
        let count = rest.count
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
        return rest.count < count
    }

    /// Takes the next byte if it is `byte`.
    mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard let first = rest.first, first == UInt8(ascii: byte) else { return false }
        rest.removeFirst()
        return true
    }

    /// Takes the bytes up to the first that is not `accepted`.
    mutating func take(while accepted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: accepted)
        rest = rest.dropFirst(taken.count)
        return taken
    }

    /// Takes a token (RFC 9110 §5.6.2); returns nil when there is none.
    mutating func token() -> String? {
        let bytes = take(while: HTTPHeader.isTokenByte)
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Takes a quoted string (RFC 9110 §5.6.4) and returns its meaning; nil when there is no
    /// complete one.
    mutating func quotedString() -> String? {
        var ahead = self
        guard ahead.take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = ahead.rest.popFirst() {
            var meant = byte
            switch byte {
            case UInt8(ascii: "\""):
                self = ahead
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = ahead.rest.popFirst() else { return nil }
                meant = escaped
            default: break
            }
            guard meant == 0x09 || meant >= 0x20 && meant != 0x7F else { return nil }
            text.append(meant)
        }
        return nil
    }
}
