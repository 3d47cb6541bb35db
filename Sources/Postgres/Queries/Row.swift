/// One row of a result; it keeps the whole result alive.
package struct Row: Sendable {
    let table: ResultTable
    let index: Int

    /// Reads a column that is not NULL.
    ///
    /// - Throws: an error with code ``PostgresError/Code/decoding`` when there is no such column,
    ///   it is NULL, or it has another type.
    package func decode<Value: PostgresDecodable>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        guard let value = try decodeIfPresent(column, as: type) else {
            throw Self.nullFound(in: column)
        }
        return value
    }

    /// Reads a column; nil for NULL.
    ///
    /// - Throws: an error with code ``PostgresError/Code/decoding`` when there is no such column or
    ///   it has another type.
    package func decodeIfPresent<Value: PostgresDecodable>(
        _ column: String,
        as: Value.Type = Value.self
    ) throws(PostgresError) -> Value? {
        var value: Value?
        try read(column) { bytes, type throws(PostgresError) in
            value = try Value.decode(bytes, type: type)
        }
        return value
    }

    /// Calls `body` with the bytes and the type of a column, unless it is NULL.
    ///
    /// - Throws: what `body` throws, or an error with code ``PostgresError/Code/decoding`` when
    ///   there is no such column.
    package func read(
        _ name: String,
        _ body: (RawSpan, PostgresType) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        let column = try table.column(name)
        do throws(PostgresError) {
            try table.result.withValue(row: index, column: column.index) {
                bytes throws(PostgresError) in
                try body(bytes, column.type)
            }
        } catch {
            throw PostgresError(
                .decoding,
                "column \(name): \(error.summary)",
                details: error.details
            )
        }
    }

    /// Returns the error for a column that is NULL and must not be.
    package static func nullFound(in column: String) -> PostgresError {
        PostgresError(.decoding, "column \(column) is NULL")
    }
}
