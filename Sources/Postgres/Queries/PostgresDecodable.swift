/// A value that can be read from a column of a ``Row`` in PostgreSQL's binary format.
package protocol PostgresDecodable: Sendable {
    /// Reads one value that is not NULL.
    ///
    /// - Throws: an error with code ``PostgresError/Code/decoding`` when `type` does not match or
    ///   the bytes are malformed.
    static func decode(_ bytes: RawSpan, type: PostgresType) throws(PostgresError) -> Self
}
