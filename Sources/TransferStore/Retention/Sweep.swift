import Postgres

/// The place where a scan of all rows of a table continues, and the number of rows removed.
package struct Sweep<Position: Sendable>: Sendable {
    /// The last row examined; nil when there is none after it.
    package let position: Position?
    /// The number of rows removed.
    package let removed: Int
}

extension Sweep {
    /// Decodes the columns `removed` and `looked_at`, and those of the last row examined.
    init(
        _ rows: StoredRows,
        limit: Int = RetentionStore.sweepMax,
        _ position: (StoredRow) throws(StoreError) -> Position
    ) throws(StoreError) {
        guard let row = rows.first else {
            self.init(position: nil, removed: 0)
            return
        }
        let isFull = try row.decode("looked_at", as: Int64.self) == Int64(limit)
        self.init(
            position: isFull ? try position(row) : nil,
            removed: Int(try row.decode("removed", as: Int64.self))
        )
    }
}
