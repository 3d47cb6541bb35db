/// A result and the positions of its columns, shared by its rows.
final class ResultTable: Sendable {
    let result: ResultHandle
    private let columns: ColumnTable

    init(_ result: ResultHandle) {
        self.result = result
        // Without rows no column is read: the usual case of INSERT, UPDATE and DELETE.
        columns = ColumnTable(result.rowCount > 0 ? result : nil)
    }

    func column(_ name: String) throws(PostgresError) -> ColumnTable.Column {
        guard let column = columns[name] else {
            throw PostgresError(.decoding, "the result has no column \(name)")
        }
        return column
    }
}
