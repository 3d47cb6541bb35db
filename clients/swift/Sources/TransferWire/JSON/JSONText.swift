/// Checks of a body's bytes before any decoder sees them.
public enum JSONText {
    /// The maximum nesting of arrays and objects; the API itself needs four.
    public static let depthMax = 64
    /// The maximum number of values in a body, or in each task of one: as many as fit into what a
    /// task may send as JSON.
    ///
    /// An object with one member has seven bytes as a text, and eight hundred as a value.
    public static let valuesMax = 65_536
    /// The maximum number of values in the tasks of a body together: 262 for each of a thousand.
    ///
    /// 64 headers with every option are about half as many. Each field of a form has three. A
    /// decoder takes 5 to 17 µs for each, and so no more than 5 s for a body.
    public static let batchValuesMax = 4 * valuesMax
    /// The number of digits in a row, as many as a whole number may have, that count with their
    /// value; each further one counts as a value.
    ///
    /// A decoder reads as many as there are, and takes half a second for a million.
    static let digitsOfValue = 20

    /// The reason why a body is refused without decoding.
    public enum Fault: Error, Equatable, Sendable {
        case empty, notUTF8, byteOrderMark, tooDeep, tooManyValues, tooManyValuesInBatch
        case controlByte, trailingComma, misplacedElement
        /// The byte with this number, from 1, is in no string and in nothing else that JSON has.
        case strayByte(Int)
    }

    /// Refuses input that a decoder may mistake for another encoding, may recurse over without
    /// bound, or accepts although RFC 8259 forbids it.
    ///
    /// The rest of the syntax is left to the decoder; this scan only has to be right about strings
    /// and brackets.
    public static func check(_ bytes: [UInt8]) throws(Fault) {
        _ = try scan(bytes, elementsMax: nil)
    }

    /// Checks a body that is an array and finds its elements.
    ///
    /// - Returns: no more than `max` and one, if there are too many; nil when it is something else
    ///   than an array.
    public static func elements(of bytes: [UInt8], max: Int) throws(Fault) -> [Range<Int>]? {
        try scan(bytes, elementsMax: max)
    }

    private static func scan(
        _ bytes: [UInt8],
        elementsMax: Int?
    ) throws(Fault) -> [Range<Int>]? {
        // RFC 8259 §8.1: only UTF-8 is allowed, where decoders also guess UTF-16 and UTF-32.
        do { _ = try UTF8Span(validating: bytes.span) } catch { throw .notUTF8 }
        // §8.1 again: a byte order mark, which Foundation skips, is not allowed.
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else { throw .byteOrderMark }
        var splitter = elementsMax.map { ElementSplitter(max: $0) }
        var depth = 0
        var values = 0
        var earlierValues = 0
        var digits = 0
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
            digits = (0x30...0x39).contains(byte) ? digits + 1 : 0
            if digits > digitsOfValue { values += 1 }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case 0..<0x20: throw .controlByte
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                values += 1
                if depth > depthMax { throw .tooDeep }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                // Foundation accepts a comma before the end of an array or object.
                if previous == UInt8(ascii: ",") { throw .trailingComma }
            case UInt8(ascii: ","): values += 1
            default:
                if !isPartOfValue(byte) { throw .strayByte(index + 1) }
            }
            try splitter?.next(byte, at: index, depth: depth)
            // Not within an element, which may be a number.
            let isBetween = byte == UInt8(ascii: "[") || byte == UInt8(ascii: ",")
            if depth == 1, isBetween, splitter?.isInArray ?? false {
                earlierValues += values
                values = 0
            }
            if values > valuesMax { throw .tooManyValues }
            if earlierValues + values > batchValuesMax { throw .tooManyValuesInBatch }
            previous = byte
        }
        if previous == nil { throw .empty }
        return try splitter?.finish()
    }

    /// Whether a byte outside a string is a colon, or may be part of a number or a literal.
    private static func isPartOfValue(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ":"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "E"), UInt8(ascii: "a"),
            UInt8(ascii: "e"), UInt8(ascii: "f"), UInt8(ascii: "l"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "u"):
            true
        default: false
        }
    }
}

/// A splitter that finds the elements of an array, from its brackets and commas outside strings.
private struct ElementSplitter {
    private enum State {
        case before, inside, behind, notAnArray
    }

    private let max: Int
    private var state = State.before
    private var elements: [Range<Int>] = []
    private var start: Int?

    /// Creates a splitter that keeps no more than `max` elements and one.
    init(max: Int) { self.max = max }

    var isInArray: Bool { state == .inside }

    /// Processes a byte that is not whitespace; `depth` is the nesting after it.
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

    /// Returns the elements.
    ///
    /// - Returns: nil when the text is no array.
    func finish() throws(JSONText.Fault) -> [Range<Int>]? {
        switch state {
        case .notAnArray: return nil
        case .behind: return elements
        case .before, .inside: throw .misplacedElement
        }
    }

    /// Ends an element, whose content is left to the decoder.
    private mutating func end(_ element: Range<Int>) {
        if elements.count <= max { elements.append(element) }
        start = nil
    }
}
