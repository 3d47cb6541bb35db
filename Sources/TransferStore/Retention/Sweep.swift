import Postgres

/// Where a look at all rows of a table goes on, and what it has removed so far.
package struct Sweep<Position: Sendable>: Sendable {
    /// The last row looked at; nil when there is none behind it.
    package let position: Position?
    package let removed: Int
}

extension Sweep {
    /// From the columns `removed` and `looked_at`, and those of the last row looked at.
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
