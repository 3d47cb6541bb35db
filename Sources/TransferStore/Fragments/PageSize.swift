import Postgres
package import TransferModel

/// How much a page of tasks holds.
package enum PageSize {}

extension PageSize {
    /// A page ends with the row whose client string brings the bytes of all of them to so many.
    ///
    /// Client strings are what makes a row large: without a bound, a page of 200 has 12 MiB of
    /// them.
    package static let pageBytesMax = 2 * 1024 * 1024
    /// The same of what a reconnection takes, all of which has to be in its answer: JSON may have
    /// six bytes for one.
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

    /// Returns whether a page of these was ended by its bytes, so that there may be more.
    package static func isFull(_ page: [TransferTask]) -> Bool {
        page.reduce(0) { $0 + ($1.clientString?.utf8.count ?? 0) } >= pageBytesMax
    }
}
