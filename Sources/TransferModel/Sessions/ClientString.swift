/// The opaque text a client stores on a task and gets back byte for byte.
///
/// It is kept as UTF-8 bytes: Swift compares strings by canonical equivalence and PostgreSQL's
/// `text` refuses NUL, while this text belongs to the client and must not be changed by either.
package struct ClientString: Hashable, Sendable, CustomStringConvertible {
    /// The longest client string, in UTF-8 bytes.
    package static let bytesMax = 64 * 1024

    /// The text in UTF-8.
    package let utf8: [UInt8]

    /// Creates a client string that keeps `string` unchanged.
    ///
    /// - Returns: nil when it is longer than ``bytesMax``.
    package init?(_ string: String) {
        let utf8 = Array(string.utf8)
        guard utf8.count <= Self.bytesMax else { return nil }
        self.utf8 = utf8
    }

    /// Restores a client string from the database.
    package init(stored utf8: [UInt8]) { self.utf8 = utf8 }

    /// The text.
    package var string: String { String(decoding: utf8, as: UTF8.self) }

    /// The size of the text only: the text is never logged.
    package var description: String { "\(utf8.count) bytes" }
}
