/// Checks a body's bytes before any decoder sees them.
package enum JSONText {
    /// The deepest nesting of arrays and objects; the API itself needs four.
    package static let depthMax = 64

    /// Why a body is refused unread.
    package enum Fault: Error, Equatable, Sendable {
        case empty, notUTF8, byteOrderMark, tooDeep, controlByte, trailingComma, misplacedElement
    }

    /// Refuses what a decoder may mistake for another encoding, may recurse over without bound or
    /// takes although RFC 8259 does not have it.
    ///
    /// The rest of the syntax is left to the decoder; this scan only has to be right about
    /// strings and brackets.
    package static func check(_ bytes: [UInt8]) throws(Fault) {
        _ = try scan(bytes, keepsElements: false)
    }

    /// Checks a body and finds the elements of the array that it is.
    ///
    /// - Returns: nil when it is something else than an array.
    package static func elements(of bytes: [UInt8]) throws(Fault) -> [Range<Int>]? {
        try scan(bytes, keepsElements: true)
    }

    private static func scan(
        _ bytes: [UInt8],
        keepsElements: Bool
    ) throws(Fault) -> [Range<Int>]? {
        // RFC 8259 §8.1: UTF-8 and nothing else, where decoders also guess UTF-16 and UTF-32.
        do { _ = try UTF8Span(validating: bytes.span) } catch { throw .notUTF8 }
        // §8.1 again: no byte order mark, which Foundation skips.
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else { throw .byteOrderMark }
        var splitter = keepsElements ? ElementSplitter() : nil
        var depth = 0
        var isInString = false
        var isEscaped = false
        var previous: UInt8?
        for (index, byte) in bytes.enumerated() {
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
            try splitter?.next(byte, at: index, depth: depth)
            previous = byte
        }
        if previous == nil { throw .empty }
        return try splitter?.finish()
    }
}

/// Finds the elements of a text that is an array, from its brackets and commas outside of strings.
private struct ElementSplitter {
    private enum State {
        case before, inside, behind, notAnArray
    }

    private var state = State.before
    private var elements: [Range<Int>] = []
    private var start: Int?

    /// Goes on by a byte that is no space; `depth` is that behind it.
    mutating func next(_ byte: UInt8, at index: Int, depth: Int) throws(JSONText.Fault) {
        switch state {
        case .notAnArray: return
        case .before: state = byte == UInt8(ascii: "[") ? .inside : .notAnArray
        case .behind: throw .misplacedElement
        case .inside:
            switch (byte, depth) {
            case (UInt8(ascii: ","), 1):
                guard let start else { throw .misplacedElement }
                end(start..<index)
            case (UInt8(ascii: "]"), 0):
                if let start { end(start..<index) }
                state = .behind
            case (_, ...0): throw .misplacedElement
            default:
                if start == nil { start = index }
            }
        }
    }

    /// - Returns: nil when the text is no array.
    func finish() throws(JSONText.Fault) -> [Range<Int>]? {
        switch state {
        case .notAnArray: return nil
        case .behind: return elements
        case .before, .inside: throw .misplacedElement
        }
    }

    /// What is within is left to the decoder.
    private mutating func end(_ element: Range<Int>) {
        elements.append(element)
        start = nil
    }
}
