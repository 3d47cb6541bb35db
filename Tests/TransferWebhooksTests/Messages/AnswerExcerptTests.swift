import Testing

@testable import TransferWebhooks

@Suite struct AnswerExcerptTests {
    @Test(arguments: [
        "\u{1b}", "\u{9b}", "\r", "\u{202e}", "\u{2028}", "\u{2029}", "\u{e000}", "\u{378}",
    ])
    func whatIsNoPlainTextIsReplaced(character: String) {
        let text = AnswerExcerpt.text(of: Array("a\(character)b\n\t".utf8))
        #expect(text == "a\u{FFFD}b\n\t")
    }

    @Test func anAnswerWithoutBytesHasNone() {
        #expect(AnswerExcerpt.text(of: []) == nil)
    }
}
