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
