import Postgres

/// The rows that a statement returned.
struct StoredRows: RandomAccessCollection, Sendable {
    private let rows: Rows

    init(_ rows: Rows) { self.rows = rows }

    var startIndex: Int { rows.startIndex }
    var endIndex: Int { rows.endIndex }

    /// The number of rows that the statement inserted, updated, deleted or returned.
    var affectedCount: Int { rows.affectedCount }

    subscript(position: Int) -> StoredRow { StoredRow(rows[position]) }
}
