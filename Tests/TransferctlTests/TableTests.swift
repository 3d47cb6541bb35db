import Testing

@testable import transferctl

@Suite struct TableTests {
    @Test func alignsAPageBelowItsTitlesAndLaterPagesWithIt() {
        var table = Table("ID", "STATE", "URL")
        #expect(
            table.lines([["1", "running", "http://a/"], ["22", "failed", "b"]]) == [
                "ID  STATE    URL", "1   running  http://a/", "22  failed   b",
            ]
        )
        #expect(table.lines([["333", "queued", ""]]) == ["333  queued"])
    }

    @Test func countsWideCharactersTwiceAndMarksNotAtAll() {
        var table = Table("NAME", "X")
        #expect(
            table.lines([["写真", "a"], ["e\u{301}", "b"]]).suffix(2) == [
                "写真  a", "e\u{301}     b",
            ]
        )
    }

    @Test func writesWhatATerminalWouldObey() {
        var table = Table("URL")
        let lines = table.lines([["a\u{1b}[2J\nb\u{202e}c\u{9b}d\u{e000}"]])
        #expect(lines.last == #"a\u{1b}[2J\u{a}b\u{202e}c\u{9b}d\u{e000}"#)
    }
}
