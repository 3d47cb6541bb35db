extension SourceTree.File {
    /// The types of which this file has a part: those that it declares or extends, unless it alone
    /// can use the extension.
    var types: Set<Substring> {
        var types: Set<Substring> = []
        var extended: Substring?
        for line in lines.map(\.text) {
            if let (kind, type) = Self.declaration(line) {
                extended = kind == "extension" && !line.contains(":") ? type : nil
                if extended == nil { types.insert(type) }
            } else if line.hasPrefix("}") {
                extended = nil
            } else if let type = extended, Self.isSharedMember(line) {
                types.insert(type)
            }
        }
        return types
    }

    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "actor", "protocol", "extension",
    ]

    /// Returns the kind and the name of what an unindented line begins to declare for other files.
    private static func declaration(_ line: Substring) -> (kind: Substring, type: Substring)? {
        guard let first = line.first, first.isLetter || first == "@" else { return nil }
        let words = line.split { " :<{".contains($0) }
        guard let place = words.firstIndex(where: kinds.contains), place + 1 < words.count,
            words[..<place].allSatisfy({ !$0.hasSuffix("private") })
        else { return nil }
        return (words[place], words[place + 1])
    }

    /// Whether a line begins a member of an unindented declaration that other files can use.
    private static func isSharedMember(_ line: Substring) -> Bool {
        guard line.hasPrefix("    "), line.dropFirst(4).first?.isLetter ?? false else {
            return false
        }
        let words = line.split(separator: " ")
        return words.first.map { !$0.hasSuffix("private") } ?? false
    }
}
