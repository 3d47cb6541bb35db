import Postgres

/// The rows that a statement returned.
struct StoredRows: RandomAccessCollection, Sendable {
    private let rows: Rows
    private let sealer: RowSealer

    init(_ rows: Rows, _ sealer: RowSealer) {
        self.rows = rows
        self.sealer = sealer
    }

    var startIndex: Int { rows.startIndex }
    var endIndex: Int { rows.endIndex }

    /// The number of rows that the statement inserted, updated, deleted or returned.
    var affectedCount: Int { rows.affectedCount }

    subscript(position: Int) -> StoredRow { StoredRow(rows[position], sealer) }
}
