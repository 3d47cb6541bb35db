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

    /// Returns the value of a column that is not NULL.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when there is no such column, it is NULL, or it has
    ///   another type.
    func decode<Value: PostgresDecodable>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(StoreError) -> Value {
        do throws(PostgresError) {
            return try row.decode(column, as: type)
        } catch {
            throw .defect(error)
        }
    }

    /// Returns the value of a column; nil for NULL.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when there is no such column or it has another type.
    func decodeIfPresent<Value: PostgresDecodable>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(StoreError) -> Value? {
        do throws(PostgresError) {
            return try row.decodeIfPresent(column, as: type)
        } catch {
            throw .defect(error)
        }
    }
}
