/// A reader of JSON that takes the usual forms, in one pass over the bytes and straight into
/// values.
///
/// It gives no reasons: whatever is wrong, and also some forms that are right but rare, it refuses,
/// and ``WireDecoder`` reads the text again to say what is wrong or to accept it. Whatever the
/// reader takes, that decoder reads as the same value.
struct JSONReader {
    /// The text is not valid, or has a form that is left to the decoder.
    struct Refusal: Error {}

    /// The maximum nesting of a value that has no type of its own.
    private static let depthMax = 8
    /// The number of digits below which different decimal fractions are different doubles.
    private static let digitsMax = 15

    private let bytes: [UInt8]
    private var index = 0
    /// Whether an object or array has just begun, so that no comma precedes what comes next.
    private var isAtStart = false
    /// The number of values so far, counted by brackets and commas as ``JSONText`` does.
    private var values = 0
    /// The number of those before this task.
    private var earlierValues = 0

    init(_ bytes: [UInt8]) throws(Refusal) {
        do { _ = try UTF8Span(validating: bytes.span) } catch { throw Refusal() }
        self.bytes = bytes
    }

    /// Ends the text, behind which only whitespace may follow.
    mutating func finish() throws(Refusal) {
        skipWhitespace()
        guard index == bytes.count else { throw Refusal() }
    }

    /// Begins to count the values of the next task.
    mutating func beginTask() {
        earlierValues += values
        values = 0
    }

    /// Begins an array if one is next, and returns whether it is.
    mutating func beginArray() -> Bool { begin(UInt8(ascii: "[")) }

    /// Goes on to the next element of an array.
    ///
    /// - Returns: false at the end of the array.
    mutating func nextElement() throws(Refusal) -> Bool { try next(before: UInt8(ascii: "]")) }

    /// Begins an object, the only value that is allowed next.
    mutating func beginObject() throws(Refusal) {
        guard begin(UInt8(ascii: "{")) else { throw Refusal() }
    }

    /// Returns the name of the next member of an object, and goes on to its value.
    ///
    /// - Returns: nil at the end of the object.
    mutating func nextName() throws(Refusal) -> String? {
        guard try next(before: UInt8(ascii: "}")) else { return nil }
        let name = try string()
        // Whoever asks for the name compares it.
        guard !CombiningMarks.areTooMany(in: name) else { throw Refusal() }
        try expect(UInt8(ascii: ":"))
        return name
    }

    /// Reads the value of a member that may be there once; an inner nil stands for null.
    mutating func read<Value: JSONReadable>(into member: inout Value??) throws(Refusal) {
        guard case .none = member else { throw Refusal() }
        member = try .some(skipNull() ? nil : Value(from: &self))
    }

    /// Reads a text.
    mutating func string() throws(Refusal) -> String {
        try expect(UInt8(ascii: "\""))
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                return String(decoding: bytes[start..<index - 1], as: UTF8.self)
            case UInt8(ascii: "\\"): return try unescapedString(from: start)
            case ..<0x20: throw Refusal()
            default: index += 1
            }
        }
        throw Refusal()
    }

    /// Reads true or false.
    mutating func bool() throws(Refusal) -> Bool {
        if skip("true") { return true }
        if skip("false") { return false }
        throw Refusal()
    }

    /// Reads a number that is written without an exponent and in few digits, as a whole number if
    /// it is one.
    mutating func number() throws(Refusal) -> JSONValue {
        skipWhitespace()
        let start = index
        if isNext(UInt8(ascii: "-")) { index += 1 }
        let isZero = isNext(UInt8(ascii: "0"))
        let digits = skipDigits()
        guard digits > 0, digits == 1 || !isZero else { throw Refusal() }
        var decimals = 0
        if isNext(UInt8(ascii: ".")) {
            index += 1
            decimals = skipDigits()
            guard decimals > 0 else { throw Refusal() }
        }
        let isRare = isNext(UInt8(ascii: "e")) || isNext(UInt8(ascii: "E"))
        guard !isRare, digits + decimals <= Self.digitsMax,
            let number = Double(String(decoding: bytes[start..<index], as: UTF8.self)),
            // Zero may have a sign, which a whole number cannot keep.
            number != 0 || bytes[start] != UInt8(ascii: "-")
        else { throw Refusal() }
        return Int64(exactly: number).map { .integer($0) } ?? .number(number)
    }

    /// Reads any value.
    mutating func value(depth: Int = 0) throws(Refusal) -> JSONValue {
        guard depth < Self.depthMax else { throw Refusal() }
        skipWhitespace()
        guard index < bytes.count else { throw Refusal() }
        switch bytes[index] {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool(try bool())
        case UInt8(ascii: "n"):
            guard skipNull() else { throw Refusal() }
            return .null
        case UInt8(ascii: "["):
            _ = beginArray()
            var elements: [JSONValue] = []
            while try nextElement() { elements.append(try value(depth: depth + 1)) }
            return .array(elements)
        case UInt8(ascii: "{"):
            return .object(
                try members { reader throws(Refusal) in
                    try reader.value(depth: depth + 1)
                }
            )
        default: return try number()
        }
    }

    /// Reads an object whose members all have values of one kind.
    mutating func members<Value>(
        _ read: (inout JSONReader) throws(Refusal) -> Value
    ) throws(Refusal) -> [String: Value] {
        try beginObject()
        var members: [String: Value] = [:]
        while let name = try nextName() {
            // Which of two values counts is left to the decoder.
            guard members.updateValue(try read(&self), forKey: name) == nil else { throw Refusal() }
        }
        return members
    }
}

extension JSONReader {
    private mutating func begin(_ bracket: UInt8) -> Bool {
        skipWhitespace()
        guard index < bytes.count, bytes[index] == bracket else { return false }
        index += 1
        isAtStart = true
        values += 1
        return true
    }

    /// Goes on to the next member or element; false when `bracket` ends them instead.
    private mutating func next(before bracket: UInt8) throws(Refusal) -> Bool {
        skipWhitespace()
        guard index < bytes.count else { throw Refusal() }
        defer { isAtStart = false }
        let isEnd = bytes[index] == bracket
        if isEnd {
            index += 1
        } else if !isAtStart {
            try expect(UInt8(ascii: ","))
            values += 1
        }
        guard values <= JSONText.valuesMax, earlierValues + values <= JSONText.batchValuesMax
        else { throw Refusal() }
        return !isEnd
    }

    private mutating func skipNull() -> Bool { skip("null") }

    private mutating func skip(_ word: StaticString) -> Bool {
        skipWhitespace()
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        let isNext = word.withUTF8Buffer { bytes[index..<end].elementsEqual($0) }
        if isNext { index = end }
        return isNext
    }

    private mutating func expect(_ byte: UInt8) throws(Refusal) {
        skipWhitespace()
        guard try take() == byte else { throw Refusal() }
    }

    private mutating func take() throws(Refusal) -> UInt8 {
        guard index < bytes.count else { throw Refusal() }
        defer { index += 1 }
        return bytes[index]
    }

    private mutating func skipWhitespace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }
}

extension JSONReader {
    /// Reads the rest of a text that began at `start`, from its first escape.
    private mutating func unescapedString(from start: Int) throws(Refusal) -> String {
        var text = Array(bytes[start..<index])
        while true {
            let byte = try take()
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try readEscape(into: &text)
            case ..<0x20: throw Refusal()
            default: text.append(byte)
            }
        }
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(Refusal) {
        let byte = try take()
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += Array(String(Character(try escapedScalar())).utf8)
        default: throw Refusal()
        }
    }

    /// Reads the hexadecimal digits of a scalar: four, or twice four with an escape in between.
    private mutating func escapedScalar() throws(Refusal) -> Unicode.Scalar {
        let unit = try hexadecimal()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), try take() == UInt8(ascii: "\\"),
            try take() == UInt8(ascii: "u")
        else { throw Refusal() }
        let second = try hexadecimal()
        guard UTF16.isTrailSurrogate(second) else { throw Refusal() }
        return UTF16.decode(UTF16.EncodedScalar([unit, second]))
    }

    private mutating func hexadecimal() throws(Refusal) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(try take())).hexDigitValue else {
                throw Refusal()
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private mutating func skipDigits() -> Int {
        let start = index
        while index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) {
            index += 1
        }
        return index - start
    }

    private func isNext(_ byte: UInt8) -> Bool { index < bytes.count && bytes[index] == byte }
}
