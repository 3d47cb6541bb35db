/// The binary form of a one-dimensional array (`array_send` in PostgreSQL's `arrayfuncs.c`).
///
/// Three 32-bit words: the number of dimensions, whether NULLs occur, the element's type; for each
/// dimension its length and lower bound; then every element as a 32-bit length, −1 for NULL, and
/// its bytes. An empty array has no dimensions at all.
struct ArrayFormat {
    /// The number of elements.
    let count: Int
    private let element: PostgresType
    private var offset: Int

    init(_ bytes: RawSpan, type: PostgresType) throws(PostgresError) {
        guard bytes.byteCount >= 12 else { throw Self.malformed(type) }
        let dimensions = try Int32(bigEndian: bytes.extracting(0..<4))
        element = PostgresType(rawValue: try UInt32(bigEndian: bytes.extracting(8..<12)))
        guard dimensions > 0 else {
            count = 0
            offset = 12
            return
        }
        guard dimensions == 1, bytes.byteCount >= 20 else { throw Self.malformed(type) }
        count = Int(try Int32(bigEndian: bytes.extracting(12..<16)))
        offset = 20
        // Each element takes at least four bytes: a false count must not reserve memory.
        guard count >= 0, count <= (bytes.byteCount - offset) / 4 else {
            throw Self.malformed(type)
        }
    }

    /// Reads the next element, nil for NULL.
    mutating func next<Value: PostgresDecodable>(
        of: Value.Type,
        in bytes: RawSpan
    ) throws(PostgresError) -> Value? {
        guard bytes.byteCount - offset >= 4 else { throw Self.malformed(element) }
        let length = Int(try Int32(bigEndian: bytes.extracting(offset..<offset + 4)))
        offset += 4
        if length == -1 { return nil }
        guard length >= 0, length <= bytes.byteCount - offset else {
            throw Self.malformed(element)
        }
        defer { offset += length }
        return try Value.decode(bytes.extracting(offset..<offset + length), type: element)
    }

    func finish(_ bytes: RawSpan) throws(PostgresError) {
        guard offset == bytes.byteCount else { throw Self.malformed(element) }
    }

    /// The bytes for which room is made for each element: its length, and a UUID.
    private static let elementBytes = 4 + 16

    /// Begins an array, whose elements are then appended.
    static func begin(
        count: Int,
        hasNull: Bool,
        element: PostgresType,
        in bytes: inout [UInt8]
    ) throws(PostgresError) {
        bytes.reserveCapacity(bytes.count + (count + 1) * elementBytes)
        bytes.appendBigEndian(Int32(count == 0 ? 0 : 1))
        bytes.appendBigEndian(Int32(hasNull ? 1 : 0))
        bytes.appendBigEndian(element.rawValue)
        guard count > 0 else { return }
        guard let count = Int32(exactly: count) else {
            throw PostgresError(.encoding, "the array has too many elements")
        }
        bytes.appendBigEndian(count)
        bytes.appendBigEndian(Int32(1))
    }

    /// Appends an element that is NULL.
    static func appendNull(to bytes: inout [UInt8]) { bytes.appendBigEndian(Int32(-1)) }

    /// Appends an element that is not NULL.
    static func append(
        _ value: some PostgresScalar,
        to bytes: inout [UInt8]
    ) throws(PostgresError) {
        let start = bytes.count
        bytes.appendBigEndian(Int32(0))
        try value.encode(into: &bytes)
        guard let length = UInt32(exactly: bytes.count - start - 4), length <= Int32.max else {
            throw PostgresError(.encoding, "an element of the array is too long")
        }
        for index in 0..<4 {
            bytes[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(index)))
        }
    }

    private static func malformed(_ type: PostgresType) -> PostgresError {
        PostgresError(.decoding, "not a one-dimensional array: type \(type.rawValue)")
    }
}
