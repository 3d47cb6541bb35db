/// The value of a `Content-Type` field (RFC 9110 §8.3.1), as far as it determines how to read text.
package struct ContentType: Equatable, Sendable {
    /// The named charset in lower case, because its names ignore case (RFC 9110 §8.3.2).
    ///
    /// Nil when none is named, and when two that differ are, which say nothing.
    package let charset: String?

    /// - Returns: nil for a value that breaks the grammar.
    package init?(_ value: String) {
        var scanner = FieldValueScanner(value)
        scanner.skipSpace()
        guard scanner.token() != nil, scanner.take("/"), scanner.token() != nil else { return nil }
        var charsets: Set<String> = []
        scanner.skipSpace()
        while scanner.take(";") {
            scanner.skipSpace()
            if let name = scanner.token()?.lowercased() {
                guard scanner.take("="), let value = scanner.quotedString() ?? scanner.token()
                else { return nil }
                if name == "charset", !value.isEmpty { charsets.insert(value.lowercased()) }
            }
            scanner.skipSpace()
        }
        guard scanner.isAtEnd else { return nil }
        charset = charsets.count == 1 ? charsets.first : nil
    }
}
