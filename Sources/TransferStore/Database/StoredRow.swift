import Postgres

/// A row that a statement returned.
///
/// A row that differs from what the code expects is a defect of the schema or the code, and is
/// thrown as ``StoreError/defect(_:)``.
struct StoredRow: Sendable {
    private let row: Row
    /// Opens what is sealed in the row.
    let sealer: RowSealer

    init(_ row: Row, _ sealer: RowSealer) {
        self.row = row
        self.sealer = sealer
    }

    // Not the functions of `Row`: generic code that is not public is compiled for each type only
    // within its module, even if it is `@inlinable` (Swift 6.3), and a row of a claim has thirty
    // columns.

    /// Returns the value of a column that is not NULL.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when there is no such column, it is NULL, or it has
    ///   another type.
    func decode<Value: PostgresDecodable>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(StoreError) -> Value {
        guard let value = try decodeIfPresent(column, as: type) else {
            throw .defect(Row.nullFound(in: column))
        }
        return value
    }

    /// Returns the value of a column; nil for NULL.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when there is no such column or it has another type.
    func decodeIfPresent<Value: PostgresDecodable>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(StoreError) -> Value? {
        var value: Value?
        do throws(PostgresError) {
            try row.read(column) { bytes, type throws(PostgresError) in
                value = try Value.decode(bytes, type: type)
            }
        } catch {
            throw .defect(error)
        }
        return value
    }
}
