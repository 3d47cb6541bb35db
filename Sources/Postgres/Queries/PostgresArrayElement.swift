import FoundationEssentials

/// A type that an array may hold: a scalar, an optional scalar, or the bytes of a `bytea`.
///
/// `[UInt8]` is a `bytea`, not an array, so an element decides how arrays of it are encoded.
package protocol PostgresArrayElement: Sendable {
    /// The type of an array of such elements.
    static var postgresArrayType: PostgresType { get }

    /// Appends the binary form of a whole array.
    static func encodeArray(_ elements: [Self], into bytes: inout [UInt8]) throws(PostgresError)

    /// Reads a whole array.
    static func decodeArray(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> [Self]
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    package static var postgresType: PostgresType { Element.postgresArrayType }

    package func encode(into bytes: inout [UInt8]) throws(PostgresError) {
        try Element.encodeArray(self, into: &bytes)
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> [Element] {
        try Element.decodeArray(bytes, type: type)
    }
}

/// Lets `[[UInt8]]` be a `bytea[]`.
extension Array: PostgresArrayElement, PostgresScalar where Element == UInt8 {
    package static var postgresArrayType: PostgresType { .byteaArray }
}

extension UInt8: PostgresArrayElement {
    package static var postgresArrayType: PostgresType { .bytea }

    package static func encodeArray(_ elements: [UInt8], into bytes: inout [UInt8]) {
        bytes.append(contentsOf: elements)
    }

    package static func decodeArray(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> [UInt8] {
        guard type == .bytea else { throw .mismatch([UInt8].self, type, bytes.byteCount) }
        return unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    }
}

// A column of an array has an element for each task. Callers are in other modules, for which code
// that is not public is not compiled with their types; so those that columns have are named here.
extension PostgresScalar {
    @specialized(where Self == Bool)
    @specialized(where Self == Int16)
    @specialized(where Self == Int32)
    @specialized(where Self == Int64)
    @specialized(where Self == String)
    @specialized(where Self == UUID)
    package static func encodeArray(
        _ elements: [Self],
        into bytes: inout [UInt8]
    ) throws(PostgresError) {
        try ArrayFormat.begin(
            count: elements.count,
            hasNull: false,
            element: postgresType,
            in: &bytes
        )
        for element in elements { try ArrayFormat.append(element, to: &bytes) }
    }

    @specialized(where Self == Bool)
    @specialized(where Self == Int16)
    @specialized(where Self == Int32)
    @specialized(where Self == Int64)
    @specialized(where Self == String)
    @specialized(where Self == UUID)
    package static func encodeArrayWithNulls(
        _ elements: [Self?],
        into bytes: inout [UInt8]
    ) throws(PostgresError) {
        try ArrayFormat.begin(
            count: elements.count,
            hasNull: elements.contains { $0 == nil },
            element: postgresType,
            in: &bytes
        )
        for element in elements {
            if let element {
                try ArrayFormat.append(element, to: &bytes)
            } else {
                ArrayFormat.appendNull(to: &bytes)
            }
        }
    }

    @specialized(where Self == Bool)
    @specialized(where Self == Int16)
    @specialized(where Self == Int32)
    @specialized(where Self == Int64)
    @specialized(where Self == String)
    @specialized(where Self == UUID)
    package static func decodeArray(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> [Self] {
        var elements: [Self] = []
        var format = try ArrayFormat(bytes, type: type)
        elements.reserveCapacity(format.count)
        for _ in 0..<format.count {
            guard let element = try format.next(of: Self.self, in: bytes) else {
                throw PostgresError(.decoding, "an element of an array is NULL")
            }
            elements.append(element)
        }
        try format.finish(bytes)
        return elements
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresScalar {
    package static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }

    package static func encodeArray(
        _ elements: [Wrapped?],
        into bytes: inout [UInt8]
    ) throws(PostgresError) {
        try Wrapped.encodeArrayWithNulls(elements, into: &bytes)
    }

    package static func decodeArray(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> [Wrapped?] {
        var elements: [Wrapped?] = []
        var format = try ArrayFormat(bytes, type: type)
        elements.reserveCapacity(format.count)
        for _ in 0..<format.count {
            elements.append(try format.next(of: Wrapped.self, in: bytes))
        }
        try format.finish(bytes)
        return elements
    }
}
