/// A value that can be bound to a parameter of a ``Query`` in PostgreSQL's binary format.
package protocol PostgresEncodable: Sendable {
    /// The type that the parameter is declared with.
    static var postgresType: PostgresType { get }

    /// Whether NULL is bound; then ``encode(into:)`` is not called.
    var isPostgresNull: Bool { get }

    /// Appends the binary form.
    ///
    /// - Throws: an error with code ``PostgresError/Code/encoding`` when the type cannot hold it.
    func encode(into bytes: inout [UInt8]) throws(PostgresError)
}

/// A value that can be read from a column of a ``Row`` in PostgreSQL's binary format.
package protocol PostgresDecodable: Sendable {
    /// Reads one value that is not NULL.
    ///
    /// - Throws: an error with code ``PostgresError/Code/decoding`` when `type` is another one or
    ///   the bytes are malformed.
    static func decode(_ bytes: RawSpan, type: PostgresType) throws(PostgresError) -> Self
}

/// A single value, which can also be an element of an array.
///
/// An enum whose raw value is a scalar conforms by naming this protocol and nothing more.
package protocol PostgresScalar: PostgresEncodable, PostgresDecodable, PostgresArrayElement {}

extension PostgresEncodable {
    package var isPostgresNull: Bool { false }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var postgresType: PostgresType { Wrapped.postgresType }

    package var isPostgresNull: Bool { self?.isPostgresNull ?? true }

    package func encode(into bytes: inout [UInt8]) throws(PostgresError) {
        if let self { try self.encode(into: &bytes) }
    }
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
