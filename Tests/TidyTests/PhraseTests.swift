import Testing

/// Rules for the English of comments, documents and messages.
@Suite struct PhraseTests {
    /// Phrases that a native reader reads twice, and what to write instead.
    private static let bans = [
        "the begin of": "the start of", "from the begin": "from the start",
        "at its begin": "at its start", " anew": "again",
        "go on with": "continue, or resume", "goes on with": "continues, or resumes",
        "gone on with": "continued, or resumed", "going on with": "continuing",
        "in case that": "if", "for good": "permanently", "is heard of": "acts, or reports",
        "more seldom": "less often", "not to be had": "not available",
        "not to be found": "cannot be found", "sign of life": "heartbeat",
        "signs of life": "heartbeats", "what is wanting": "what is missing",
        "told to nobody": "shown to nobody", "nobody could tell of": "say who could not be reached",
        "as many as may": "the maximum", "unless said": "by default",
    ]

    @Test func nothingIsSaidTwiceBeforeItIsUnderstood() throws {
        var files = try (SourceTree.sources + ["Tests", "Benchmarks"]).flatMap {
            try SourceTree.files($0, "swift")
        }
        files += try SourceTree.files("docs", "md") + SourceTree.files("migrations", "sql")
        files += try SourceTree.files(".", "md", "yaml").filter {
            !$0.path.dropFirst(2).contains("/")
        }
        for file in files where !file.path.hasSuffix("PhraseTests.swift") {
            for line in file.lines {
                let text = line.text.lowercased()
                for (phrase, instead) in Self.bans where text.containsWhole(phrase) {
                    Issue.record("\(file.path):\(line.number) \(phrase): \(instead)")
                }
            }
        }
    }

    /// What others call has a sentence; not so a stored property whose name and type say all, an
    /// initializer that stores its arguments, or a requirement that its protocol describes.
    @Test func whatOthersUseIsDocumented() throws {
        for file in try SourceTree.sourceFiles("swift") {
            var previous: Substring = ""
            for line in file.lines {
                let text = line.text.drop { $0 == " " }
                defer { if !text.hasPrefix("@") { previous = text } }
                guard text.hasPrefix("package "), !previous.hasPrefix("///"),
                    !Self.saysAll(text)
                else { continue }
                Issue.record("\(file.path):\(line.number) has no `///`: \(text)")
            }
        }
    }

    /// Whether a declaration needs no sentence.
    private static func saysAll(_ text: Substring) -> Bool {
        let stored = #/package (private\(set\) )?(let|var) \w+(: [^{=]*)?$/#
        let witness =
            #/
            import\ |extension\ |init|escription|encode|decode|hash\(|==|<|CodingKeys|Index\b
            |postgres|isPostgresNull|PostgresType\(|Executor|isIsolating|appendLiteral|typealias
            |subscript|run\(\)|customMirror
            /#
        return text.wholeMatch(of: stored) != nil || text.contains(witness)
    }
}

extension String {
    /// Whether `phrase` is in the text and no letter follows it.
    fileprivate func containsWhole(_ phrase: String) -> Bool {
        ranges(of: phrase).contains { $0.upperBound == endIndex || !self[$0.upperBound].isLetter }
    }
}
