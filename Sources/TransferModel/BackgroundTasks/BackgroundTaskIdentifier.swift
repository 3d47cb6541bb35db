/// The identifier of a background task, such as `com.example.feed.refresh`.
package struct BackgroundTaskIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// 1 to ``bytesMax`` letters, digits, dots, hyphens and underscores.
    package let name: String
    /// The longest identifier, in bytes.
    package static let bytesMax = 128
    /// The rule for identifiers, in words.
    package static let rule = """
        Must have 1 to \(bytesMax) letters, digits, dots, hyphens and underscores, but \
        not be `.` or `..`.
        """

    /// Creates an identifier; nil for invalid text, so that none ever has to be escaped.
    package init?(_ name: String) {
        guard (1...Self.bytesMax).contains(name.utf8.count), ClientID.hasOnlyNameBytes(name) else {
            return nil
        }
        self.name = name
    }

    /// Restores an identifier from the database.
    package init(stored name: String) { self.name = name }

    package var description: String { name }
}
