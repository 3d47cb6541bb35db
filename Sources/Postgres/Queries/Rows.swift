/// The rows that a statement returned.
package struct Rows: RandomAccessCollection, Sendable {
    private let table: ResultTable
    package let startIndex = 0
    package let endIndex: Int

    init(_ result: ResultHandle) {
        table = ResultTable(result)
        endIndex = result.rowCount
    }

    /// The number of rows that the statement inserted, updated, deleted or returned.
    package var affectedCount: Int { table.result.affectedCount }

    package subscript(position: Int) -> Row {
        precondition(position >= 0 && position < endIndex, "there is no row at this position")
        return Row(table: table, index: position)
    }
}
