/// A value that a row of a statement holds.
protocol RowDecodable {
    /// Creates the value of a row.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when the row does not hold one.
    init(_ row: StoredRow) throws(StoreError)
}
