extension HTTPHeader {
    /// The most bytes of one value.
    package static let valueBytesMax = 8 * 1024
    /// The most bytes of one name.
    package static let nameBytesMax = 256

    /// A reason not to send a client's field.
    package enum Fault: Error, Equatable, Sendable {
        /// The name is no token of 1 to ``HTTPHeader/nameBytesMax`` bytes: correct it.
        case invalidName
        /// The field frames the message or belongs to one connection: leave it out.
        case forbidden
        /// The value has more than ``HTTPHeader/valueBytesMax`` bytes: shorten it.
        case valueTooLong
        /// The value holds a control character, or begins or ends with a space: correct it.
        case invalidValue
    }

    /// Returns the fault of a field of that name and value; nil when it may be sent.
    package static func fault(name: String, value: String) -> Fault? {
        guard (1...nameBytesMax).contains(name.utf8.count), name.utf8.allSatisfy(isTokenByte) else {
            return .invalidName
        }
        let lowercased = name.lowercased()
        guard !forbidden.contains(lowercased), !lowercased.hasPrefix(forbiddenPrefix) else {
            return .forbidden
        }
        guard value.utf8.count <= valueBytesMax else { return .valueTooLong }
        return isFieldValue(value) ? nil : .invalidValue
    }

    /// Fields that frame the message, belong to one connection or would break resuming.
    private static let forbidden: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
        "upgrade", "expect", "range", "if-range", "accept-encoding", "http2-settings",
    ]
    private static let forbiddenPrefix = "proxy-"

    private static let harmlessNames: Set<String> = [
        "accept", "accept-language", "content-type", "user-agent",
    ]

    /// Whether the name is that of a field that says nothing about who asks, so that it may be sent
    /// to another origin.
    package static func isHarmless(name: String) -> Bool {
        harmlessNames.contains(name.lowercased())
    }

    /// Whether the field says nothing about who asks, if it is no credential.
    package var isHarmless: Bool { Self.isHarmless(name: name) }

    /// Whether the field describes the body of a request, and is not sent without one (RFC 9110
    /// §15.4).
    package var describesContent: Bool {
        [
            "content-type", "content-encoding", "content-language", "content-location", "digest",
            "content-digest", "repr-digest", "content-md5",
        ].contains(name.lowercased())
    }

    /// Whether a value has no control characters but the tab, and no space at either end (RFC 9110
    /// §5.5).
    private static func isFieldValue(_ value: String) -> Bool {
        let ends = [value.utf8.first, value.utf8.last]
        return value.utf8.allSatisfy { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }
            && !ends.contains(0x09) && !ends.contains(0x20)
    }

    /// Whether a name may hold `byte` (RFC 9110 §5.6.2).
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
