import Postgres

/// The bounds of a page of tasks, in bytes.
package enum PageSize {
    /// The number of bytes of client strings after which a page ends, with the row that reaches it.
    ///
    /// Client strings are what makes a row large: without a bound, a page of 200 has 12 MiB of
    /// them.
    package static let pageBytesMax = 2 * 1024 * 1024
    /// The number of bytes of client strings after which a reconnection takes no more tasks.
    ///
    /// All of them must fit into its answer, and JSON may need six bytes for one.
    package static let reconnectionBytesMax = 448 * 1024

    /// Returns the rows of a query in the order of `key`, up to the one that brings the bytes of
    /// their client strings to `bytes`.
    static func cut(_ rows: Query, orderedBy key: Query, at bytes: Int) -> Query {
        """
        SELECT w.* FROM (
            SELECT r.*, sum(coalesce(octet_length(r.client_string), 0)) OVER (
                ORDER BY r.\(key) ROWS UNBOUNDED PRECEDING) AS bytes_through
            FROM (\(rows)) r
        ) w
        WHERE w.bytes_through - coalesce(octet_length(w.client_string), 0) < \(bytes)
        ORDER BY w.\(key)
        """
    }

    /// Returns the bytes of the client strings of rows that ``cut(_:orderedBy:at:)`` left, whether
    /// they can be read or not; if they reach its limit, there may be more rows.
    static func bytes(of rows: StoredRows) throws(StoreError) -> Int {
        let bytes = try rows.last?.decodeIfPresent("bytes_through", as: Int64.self)
        return Int(bytes ?? 0)
    }
}
