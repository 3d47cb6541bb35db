/// A result and the positions of its columns, shared by its rows.
final class ResultTable: Sendable {
    let result: ResultHandle
    /// The position and type of each column; if a name occurs twice, the first, as in libpq.
    private let columns: [String: Column]

    struct Column {
        let index: Int
        let type: PostgresType
    }

    init(_ result: ResultHandle) {
        self.result = result
        var columns: [String: Column] = [:]
        // Without rows no column is read: the usual case of INSERT, UPDATE and DELETE.
        if result.rowCount > 0 {
            columns.reserveCapacity(result.columnCount)
            for index in (0..<result.columnCount).reversed() {
                let column = Column(index: index, type: result.columnType(index))
                columns[result.columnName(index)] = column
            }
        }
        self.columns = columns
    }

    func column(_ name: String) throws(PostgresError) -> Column {
        guard let column = columns[name] else {
            throw PostgresError(.decoding, "the result has no column \(name)")
        }
        return column
    }
}
