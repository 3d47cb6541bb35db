/// The `Content-Range` of a 206 (RFC 9110 §14.4): the bytes sent, and the length of the whole.
package struct ContentRange: Equatable, Sendable {
    /// The bytes that are sent, counted from 0.
    package let range: Range<Int64>
    /// The length of the whole; nil when the origin does not state it (`*`).
    package let total: Int64?

    /// Reads a field value strictly; nil for anything but one range of bytes.
    package init?(_ value: String) {
        let bytes = Array(value.utf8)
        guard bytes.count <= 128, bytes.starts(with: "bytes ".utf8) else { return nil }
        let parts = bytes.dropFirst(6).split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        guard parts.count == 2 else { return nil }
        let bounds = parts[0].split(
            separator: UInt8(ascii: "-"),
            omittingEmptySubsequences: false
        )
        guard bounds.count == 2, let first = Self.number(bounds[0]),
            let last = Self.number(bounds[1]), first <= last, last < .max
        else { return nil }
        if parts[1].elementsEqual("*".utf8) {
            total = nil
        } else {
            guard let number = Self.number(parts[1]), last < number else { return nil }
            total = number
        }
        range = first..<last + 1
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard (1...19).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
