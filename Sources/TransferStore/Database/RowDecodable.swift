/// A value decoded from a row of a statement.
protocol RowDecodable {
    /// Creates the value from a row.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when the row does not hold one.
    init(_ row: StoredRow) throws(StoreError)
}
