/// A parser of a field whose value is a Dictionary of Byte Sequences (RFC 9651, section 4.2.2).
///
/// It refuses other types of member, and reads and drops parameters. A parameter that is a Display
/// String is refused too, as no field that we read has one. One pass, no recursion.
struct ByteSequenceDictionary {
    /// An error for a value that is no such Dictionary and has to be ignored (RFC 9651, section
    /// 4.2).
    struct Malformed: Error {}

    private var rest: ArraySlice<UInt8>

    private init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Returns the members of a field value; of equal keys the last counts.
    static func members(
        of value: some Sequence<UInt8>
    ) throws(Malformed) -> [String: [UInt8]] {
        var parser = ByteSequenceDictionary(Array(value))
        return try parser.dictionary()
    }

    private mutating func dictionary() throws(Malformed) -> [String: [UInt8]] {
        var members: [String: [UInt8]] = [:]
        skipSpaces()
        while !rest.isEmpty {
            let name = try key()
            // A member without a value is the Boolean true.
            try expect("=")
            members[name] = try byteSequence()
            try skipParameters()
            skipOptionalWhitespace()
            guard !rest.isEmpty else { break }
            try expect(",")
            skipOptionalWhitespace()
            guard !rest.isEmpty else { throw Malformed() }
        }
        return members
    }

    private mutating func key() throws(Malformed) -> String {
        guard let first = rest.first, first.isLowercase || first == UInt8(ascii: "*") else {
            throw Malformed()
        }
        let key = rest.prefix {
            $0.isLowercase || $0.isDigit || "_-.*".utf8.contains($0)
        }
        rest = rest.dropFirst(key.count)
        return String(decoding: key, as: UTF8.self)
    }

    private mutating func byteSequence() throws(Malformed) -> [UInt8] {
        try expect(":")
        guard let end = rest.firstIndex(of: UInt8(ascii: ":")),
            let bytes = Base64.decode(rest[..<end])
        else { throw Malformed() }
        rest = rest[(end + 1)...]
        return bytes
    }

    private mutating func skipParameters() throws(Malformed) {
        while take(";") {
            skipSpaces()
            _ = try key()
            if take("=") { try skipBareItem() }
        }
    }

    /// Skips a bare item (RFC 9651, section 4.2.3.1).
    private mutating func skipBareItem() throws(Malformed) {
        guard let first = rest.first else { throw Malformed() }
        switch first {
        case UInt8(ascii: "-"), 0x30...0x39: try skipNumber()
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: ":"): _ = try byteSequence()
        case UInt8(ascii: "?"):
            rest = rest.dropFirst()
            guard take("0") || take("1") else { throw Malformed() }
        case UInt8(ascii: "@"):
            rest = rest.dropFirst()
            guard try skipNumber() == .integer else { throw Malformed() }
        case UInt8(ascii: "*"), 0x41...0x5A, 0x61...0x7A:
            rest = rest.drop {
                $0.isLowercase || $0.isDigit || (0x41...0x5A).contains($0)
                    || "!#$%&'*+-.^_`|~:/".utf8.contains($0)
            }
        default: throw Malformed()
        }
    }

    private enum Number { case integer, decimal }

    @discardableResult
    private mutating func skipNumber() throws(Malformed) -> Number {
        _ = take("-")
        let whole = rest.prefix { $0.isDigit }.count
        rest = rest.dropFirst(whole)
        guard (1...15).contains(whole) else { throw Malformed() }
        guard take(".") else { return .integer }
        let fraction = rest.prefix { $0.isDigit }.count
        rest = rest.dropFirst(fraction)
        guard whole <= 12, (1...3).contains(fraction) else { throw Malformed() }
        return .decimal
    }

    private mutating func skipString() throws(Malformed) {
        try expect("\"")
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"): guard take("\"") || take("\\") else { throw Malformed() }
            case 0x20...0x7E: break
            default: throw Malformed()
            }
        }
        throw Malformed()
    }

    private mutating func skipSpaces() { rest = rest.drop { $0 == 0x20 } }

    private mutating func skipOptionalWhitespace() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(Malformed) {
        guard take(character) else { throw Malformed() }
    }
}

/// Base64 (RFC 4648, section 4) as RFC 9651, section 4.2.7 requires it to be read.
private enum Base64 {
    /// Returns the decoded bytes; nil for a byte outside the alphabet or an impossible length.
    ///
    /// The padding may be missing and its bits need not be zero, but it must not be partial.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let digits = text.dropLast(padding)
        guard digits.count % 4 != 1,
            padding == 0 || (padding <= 2 && (digits.count + padding) % 4 == 0)
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in digits {
            guard let value = value(ofDigit: digit) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        return bytes
    }

    private static func value(ofDigit digit: UInt8) -> UInt32? {
        switch digit {
        case 0x41...0x5A: UInt32(digit) - 0x41
        case 0x61...0x7A: UInt32(digit) - 0x61 + 26
        case 0x30...0x39: UInt32(digit) - 0x30 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

extension UInt8 {
    fileprivate var isLowercase: Bool { (0x61...0x7A).contains(self) }
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}
