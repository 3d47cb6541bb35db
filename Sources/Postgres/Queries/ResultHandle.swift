internal import CLibPQ

/// A result of libpq, freed with its last reference.
///
/// Proof for `@unchecked Sendable`: the pointer is never changed, and a PGresult is read-only after
/// its creation and may be passed between threads (PostgreSQL manual, libpq, "Behavior in Threaded
/// Programs"); none of the functions that modify a result is called.
@safe final class ResultHandle: @unchecked Sendable {
    private let result: OpaquePointer

    /// Takes ownership of `result`, which nothing else may use.
    init(_ result: OpaquePointer) { unsafe self.result = unsafe result }

    deinit { unsafe PQclear(result) }

    var status: ExecStatusType { unsafe PQresultStatus(result) }

    var rowCount: Int { Int(unsafe PQntuples(result)) }

    var columnCount: Int { Int(unsafe PQnfields(result)) }

    /// The number of rows that the command affected; 0 for commands without such a count.
    var affectedCount: Int {
        guard let text = unsafe PQcmdTuples(result) else { return 0 }
        return Int(unsafe String(cString: text)) ?? 0
    }

    func columnName(_ column: Int) -> String {
        guard let name = unsafe PQfname(result, Int32(column)) else { return "" }
        return unsafe String(cString: name)
    }

    func columnType(_ column: Int) -> PostgresType {
        PostgresType(rawValue: unsafe PQftype(result, Int32(column)))
    }

    /// Calls `body` with the bytes of a value, unless it is NULL.
    ///
    /// Row and column must be within the counts.
    func withValue(
        row: Int,
        column: Int,
        _ body: (RawSpan) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        let (row, column) = (Int32(row), Int32(column))
        guard unsafe PQgetisnull(result, row, column) == 0,
            let start = unsafe PQgetvalue(result, row, column)
        else { return }
        let count = Int(unsafe PQgetlength(result, row, column))
        // The bytes live as long as the result, which `self` keeps alive during the call.
        let span = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: count)
        try body(span)
    }

    /// Returns a field of an error result, such as its SQLSTATE.
    func errorField(_ code: Character) -> String? {
        guard let ascii = code.asciiValue,
            let text = unsafe PQresultErrorField(result, Int32(ascii))
        else { return nil }
        return unsafe String(cString: text)
    }

    /// The error that this result describes.
    var error: PostgresError {
        let sqlState = errorField("C")
        var details = errorField("M") ?? ""
        // Not the fields "detail" and "where", which quote the values of rows and parameters.
        if let hint = errorField("H") { details += "; hint: \(hint)" }
        return PostgresError(
            .server,
            "the server refused a statement",
            details: details,
            sqlState: sqlState,
            constraint: errorField("n")
        )
    }
}
