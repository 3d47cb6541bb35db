/// The opaque text a client stores on a task and gets back byte for byte.
///
/// Kept as UTF-8 bytes: Swift compares strings by canonical equivalence and PostgreSQL's `text`
/// refuses NUL, while this text belongs to the client and must not be changed by either.
package struct ClientString: Hashable, Sendable, CustomStringConvertible {
    /// The longest allowed, in UTF-8 bytes.
    package static let bytesMax = 64 * 1024

    /// The text's UTF-8.
    package let utf8: [UInt8]

    /// Keeps `string` as it is.
    ///
    /// - Returns: nil when it is longer than ``bytesMax``.
    package init?(_ string: String) {
        let utf8 = Array(string.utf8)
        guard utf8.count <= Self.bytesMax else { return nil }
        self.utf8 = utf8
    }

    /// Takes back what the database holds.
    package init(stored utf8: [UInt8]) { self.utf8 = utf8 }

    /// The text.
    package var string: String { String(decoding: utf8, as: UTF8.self) }

    /// Its size only: the text is never logged.
    package var description: String { "\(utf8.count) bytes" }
}
