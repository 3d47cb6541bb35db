extension SourceTree.File {
    struct Function {
        let line: Int
        /// The number of lines without those of multi-line literals.
        let lineCount: Int
    }

    /// Functions and initializers with a body of several lines.
    var functions: [Function] {
        var found: [Function] = []
        // The open functions: their first line, indentation, and number of lines so far.
        var open: [(line: Int, indent: Substring, lineCount: Int)] = []
        var isInLiteral = false
        for (number, text) in lines {
            let isMark = text.contains("\"\"\"")
            if !isInLiteral || isMark {
                let indent = text.prefix { $0 == " " }
                if !isInLiteral, Self.beginsFunction(text.dropFirst(indent.count)) {
                    // A protocol's requirement has no end of its own.
                    open.removeAll { $0.indent.count >= indent.count }
                    open.append((number, indent, 0))
                }
                for index in open.indices { open[index].lineCount += 1 }
                if let last = open.last, text == last.indent + "}" {
                    found.append(Function(line: last.line, lineCount: last.lineCount))
                    open.removeLast()
                } else if let last = open.last, last.line == number, text.hasSuffix("}") {
                    open.removeLast()
                }
            }
            if isMark, text.split(separator: "\"\"\"", omittingEmptySubsequences: false).count == 2
            {
                isInLiteral.toggle()
            }
        }
        return found
    }

    private static func beginsFunction(_ text: Substring) -> Bool {
        let modifiers: Set<Substring> = [
            "package", "public", "private", "fileprivate", "static", "mutating", "nonisolated",
            "consuming", "borrowing", "override", "final", "convenience", "required",
        ]
        var words = text.split(separator: " ")[...]
        while let word = words.first, modifiers.contains(word) || word.hasPrefix("@") {
            words = words.dropFirst()
        }
        guard let first = words.first else { return false }
        return first == "func" || first.hasPrefix("init(") || first.hasPrefix("init?(")
            || first.hasPrefix("init<")
    }
}
