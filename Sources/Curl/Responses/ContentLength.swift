/// The result of strictly reading the `Content-Length` fields of a head (RFC 9110, section 8.6).
///
/// Digits only, no sign, at most `Int64.max`; several fields are accepted only when all agree.
enum ContentLength: Equatable {
    /// A length, or nil when there is none or a transfer coding frames the body instead.
    case valid(Int64?)
    /// Not a length, or two that differ: a reader that continues may be deceived.
    case invalid

    /// Reads the fields of one head.
    init(_ headers: [(name: String, value: String)]) {
        let fields = headers.filter { $0.name.isEqualIgnoringASCIICase(to: "Content-Length") }
        let values = fields.flatMap { field in
            field.value.utf8.split(separator: .comma, omittingEmptySubsequences: false)
        }
        var length: Int64?
        for value in values {
            guard let number = Self.number(value), length == nil || length == number else {
                self = .invalid
                return
            }
            length = number
        }
        let isCoded = headers.contains { $0.name.isEqualIgnoringASCIICase(to: "Transfer-Encoding") }
        self = .valid(isCoded ? nil : length)
    }

    private static func number(_ value: Substring.UTF8View) -> Int64? {
        let digits = value.drop { $0 == .space }
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        return Int64(Substring(digits))
    }
}

extension UInt8 {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let comma: UInt8 = 0x2C
    static let colon: UInt8 = 0x3A

    var isDigit: Bool { (0x30...0x39).contains(self) }

    /// Whether the byte may stand in a method or field name (RFC 9110, section 5.6.2).
    var isTokenByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
