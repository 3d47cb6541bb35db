/// Percent-encoding of RFC 3986 §2.1, over bytes.
public enum PercentEncoding {
    /// Returns `text` as one segment of a path: all but the unreserved characters are escaped.
    public static func encodeSegment(_ text: String) -> String { encode(text, allowing: []) }

    /// Returns the UTF-8 of `text` with escapes for all but the unreserved characters (RFC 3986
    /// §2.3) and `allowed`.
    public static func encode(_ text: String, allowing allowed: Set<UInt8>) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isUnreserved(byte) || allowed.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [
                    UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)],
                ]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
