/// Checks a body's bytes before any decoder sees them.
package enum JSONText {
    /// The deepest nesting of arrays and objects; the API itself needs four.
    package static let depthMax = 64

    /// Why a body is refused unread.
    package enum Fault: Error, Equatable, Sendable {
        case empty, notUTF8, byteOrderMark, tooDeep, controlByte, trailingComma
    }

    /// Refuses what a decoder may mistake for another encoding, may recurse over without bound or
    /// takes although RFC 8259 does not have it.
    ///
    /// The rest of the syntax is left to the decoder; this scan only has to be right about
    /// strings and brackets.
    package static func check(_ bytes: [UInt8]) throws(Fault) {
        // RFC 8259 §8.1: UTF-8 and nothing else, where decoders also guess UTF-16 and UTF-32.
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
        // §8.1 again: no byte order mark, which Foundation skips.
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else { throw .byteOrderMark }
        var depth = 0
        var isInString = false
        var isEscaped = false
        var previous: UInt8?
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                } else if byte < 0x20 {
                    throw .controlByte
                }
                continue
            }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case 0..<0x20: throw .controlByte
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > depthMax { throw .tooDeep }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                // Foundation takes a comma before the end of an array or object.
                if previous == UInt8(ascii: ",") { throw .trailingComma }
            default: break
            }
            previous = byte
        }
        if previous == nil { throw .empty }
    }
}
