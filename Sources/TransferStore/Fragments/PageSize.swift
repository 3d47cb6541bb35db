import Postgres
package import TransferModel

/// The size of a page of tasks.
package enum PageSize {}

extension PageSize {
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
            SELECT r.*, sum(octet_length(r.client_string)) OVER (
                ORDER BY r.\(key) ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
            FROM (\(rows)) r
        ) w
        WHERE coalesce(w.bytes_before, 0) < \(bytes)
        ORDER BY w.\(key)
        """
    }

    /// Returns whether the byte limit ended this page, so that there may be more tasks.
    package static func isFull(_ page: [TransferTask]) -> Bool {
        page.reduce(0) { $0 + ($1.clientString?.utf8.count ?? 0) } >= pageBytesMax
    }

    /// Returns whether the limit of `bytesMax` ended this page, so that there may be more events.
    package static func isFull(_ page: some Sequence<SessionEvent>, at bytesMax: Int) -> Bool {
        page.reduce(0) { $0 + ($1.task?.clientString?.utf8.count ?? 0) } >= bytesMax
    }
}
