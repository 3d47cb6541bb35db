private import Glibc

/// The text of a statement and the places of its values.
///
/// Statements are put together from many parts each time they are sent. So placeholders get their
/// numbers when the server is to read them, which is once for a prepared statement: a part that is
/// inserted is copied as it is, wherever it comes to stand.
struct QueryText: Sendable {
    /// The text in UTF-8, without placeholders.
    private(set) var bytes: [UInt8] = []
    /// The offset in ``bytes`` of each value, in their order.
    private(set) var places: [Int] = []

    init() {}

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func reserve(byteCount: Int, placeCount: Int) {
        bytes.reserveCapacity(byteCount)
        places.reserveCapacity(placeCount)
    }

    mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Appends a part with its own places.
    mutating func append(_ part: QueryText) {
        let start = bytes.count
        bytes.append(contentsOf: part.bytes)
        for place in part.places { places.append(start + place) }
    }

    /// Puts the place of the next value at the end.
    mutating func appendPlace() { places.append(bytes.count) }

    /// The text with `$1`, `$2` … in place of the values.
    var sql: String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + 4 * places.count)
        var start = 0
        for (index, place) in places.enumerated() {
            text.append(contentsOf: bytes[start..<place])
            text.append(contentsOf: "$\(index + 1)".utf8)
            start = place
        }
        text.append(contentsOf: bytes[start...])
        return String(decoding: text, as: UTF8.self)
    }
}

extension QueryText: Hashable {
    /// Compares all bytes at once: each statement that is sent is compared, some of 15 KB, and the
    /// comparison of arrays goes byte by byte.
    static func == (left: QueryText, right: QueryText) -> Bool {
        guard left.bytes.count == right.bytes.count, left.places == right.places else {
            return false
        }
        return unsafe left.bytes.withUnsafeBytes { left in
            unsafe right.bytes.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else {
                    return true
                }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
    }

    /// Hashes what tells nearly all statements apart: to read all of a long text takes longer than
    /// to compare it with the one that is found.
    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes.count)
        hasher.combine(places.count)
        hasher.combine(places.last)
    }
}
