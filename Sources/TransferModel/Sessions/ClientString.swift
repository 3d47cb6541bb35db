/// The opaque text a client stores on a task and gets back byte for byte.
///
/// Two are the same when their bytes are: Swift compares strings by canonical equivalence, and this
/// text belongs to the client.
package struct ClientString: Equatable, Sendable, CustomStringConvertible {
    /// The longest client string, in UTF-8 bytes.
    package static let bytesMax = 64 * 1024

    /// The text.
    package let string: String

    /// The text in UTF-8.
    package var utf8: String.UTF8View { string.utf8 }

    /// Creates a client string that keeps `string` unchanged.
    ///
    /// - Returns: nil when it is longer than ``bytesMax``.
    package init?(_ string: String) {
        guard string.utf8.count <= Self.bytesMax else { return nil }
        self.string = string
    }

    /// Restores a client string from the database.
    package init(stored string: String) { self.string = string }

    /// The size of the text only: the text is never logged.
    package var description: String { "\(utf8.count) bytes" }

    package static func == (one: ClientString, other: ClientString) -> Bool {
        one.utf8.elementsEqual(other.utf8)
    }
}
