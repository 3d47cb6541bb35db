/// Percent-decoding (RFC 3986 §2.1), applied once, over bytes.
package enum PercentDecoding {
    /// Returns the decoded text, with `+` as a space where it comes from a form or a query.
    ///
    /// - Returns: nil when an escape is broken or the result is not UTF-8.
    package static func text(_ encoded: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> String? {
        bytes(encoded, plusIsSpace: plusIsSpace)
            .flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Returns the decoded text of a segment of a path; nil as for bytes.
    package static func text(_ segment: Substring) -> String? {
        guard segment.utf8.contains(UInt8(ascii: "%")) else { return String(segment) }
        return text(Array(segment.utf8)[...])
    }

    /// Returns the decoded bytes; nil when an escape is broken.
    static func bytes(_ encoded: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encoded.count)
        var iterator = encoded.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(hexDigit),
                    let low = iterator.next().flatMap(hexDigit)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
