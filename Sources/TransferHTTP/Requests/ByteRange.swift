/// The part of a content that a `Range` field asks for (RFC 9110 §14.2).
enum ByteRange: Equatable, Sendable {
    /// The whole content: there is no range, one in another unit or of another form, or several.
    case whole
    case part(Range<Int64>)
    /// The range begins after the end, or is empty.
    case unsatisfiable

    init(_ field: String?, size: Int64) {
        guard let field, let (first, last) = Self.parse(Array(field.utf8)) else {
            self = .whole
            return
        }
        switch (first, last) {
        case (.some(let first), let last):
            guard last.map({ $0 >= first }) ?? true else {
                self = .whole
                return
            }
            guard first < size else {
                self = .unsatisfiable
                return
            }
            self = .part(first..<(min(last ?? size - 1, size - 1) + 1))
        case (nil, .some(let count)):
            self = count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
        case (nil, nil):
            self = .whole
        }
    }

    /// Returns the first and last byte of one range; for a suffix only the last, which is its
    /// length.
    private static func parse(_ field: [UInt8]) -> (first: Int64?, last: Int64?)? {
        let unit = Array("bytes=".utf8)
        guard field.count > unit.count,
            zip(field, unit).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
        else { return nil }
        let parts = field.dropFirst(unit.count).split(
            separator: UInt8(ascii: "-"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts.count == 2, let first = number(parts[0]), let last = number(parts[1]) else {
            return nil
        }
        return (first, last)
    }

    /// Returns an unsigned number, capped when it has more digits, or `.some(nil)` for no digits.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int64?? {
        if digits.isEmpty { return .some(nil) }
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return .some(Int64(String(decoding: digits, as: UTF8.self)) ?? Int64.max - 1)
    }
}
