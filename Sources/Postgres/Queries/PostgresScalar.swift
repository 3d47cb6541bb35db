/// A single value, which can also be an element of an array.
///
/// An enum whose raw value is a scalar conforms by naming this protocol, without further code.
package protocol PostgresScalar: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// Appends the binary form of a whole array in which NULLs may occur.
    ///
    /// A requirement, although all have one implementation: as a witness it is compiled for each
    /// type, and each element costs a fraction of what it does in generic code.
    static func encodeArrayWithNulls(
        _ elements: [Self?],
        into bytes: inout [UInt8]
    ) throws(PostgresError)
}

extension PostgresScalar where Self: RawRepresentable, RawValue: PostgresScalar {
    package static var postgresType: PostgresType { RawValue.postgresType }

    package static var postgresArrayType: PostgresType { RawValue.postgresArrayType }

    package func encode(into bytes: inout [UInt8]) throws(PostgresError) {
        try rawValue.encode(into: &bytes)
    }

    package static func decode(
        _ bytes: RawSpan,
        type: PostgresType
    ) throws(PostgresError) -> Self {
        let rawValue = try RawValue.decode(bytes, type: type)
        guard let value = Self(rawValue: rawValue) else {
            throw PostgresError(
                .decoding,
                "unknown case of \(Self.self)",
                details: String(describing: rawValue)
            )
        }
        return value
    }
}
