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
            throw PostgresError(.decoding, "column \(column) is NULL")
        }
        return value
    }

    /// Reads a column; nil for NULL.
    ///
    /// - Throws: an error with code ``PostgresError/Code/decoding`` when there is no such column or
    ///   it has another type.
    package func decodeIfPresent<Value: PostgresDecodable>(
        _ name: String,
        as: Value.Type = Value.self
    ) throws(PostgresError) -> Value? {
        let column = try table.column(name)
        do throws(PostgresError) {
            return try table.result.withValue(row: index, column: column.index) {
                bytes throws(PostgresError) in
                try Value.decode(bytes, type: column.type)
            }
        } catch {
            throw PostgresError(
                .decoding,
                "column \(name): \(error.summary)",
                details: error.details
            )
        }
    }
}
