/// Text as it is typed for a shell.
enum ShellWords {
    /// The characters that mean nothing to a shell, wherever they stand in a word.
    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@,+".utf8
    )

    /// Returns one word, in quotation marks where it needs them.
    static func quoted(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(plain.contains) { return text }
        let parts = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'\(parts.joined(separator: #"'\''"#))'"
    }

    /// Returns an option with its value, which may look like an option.
    static func option(_ name: String, _ value: String) -> String {
        "\(name)\(value.hasPrefix("-") ? "=" : " ")\(quoted(value))"
    }

    /// Returns the last argument of a command, which may look like an option.
    static func argument(_ text: String) -> String {
        text.hasPrefix("-") ? "-- \(quoted(text))" : quoted(text)
    }
}
