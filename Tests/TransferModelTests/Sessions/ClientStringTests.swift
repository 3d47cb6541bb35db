import Testing
import TransferModel

@Suite struct ClientStringTests {
    @Test(arguments: [
        "", "plain", "nul \u{0} inside", "\u{FEFF}mark", "line\r\nbreak", "👩‍👩‍👧‍👦", "\u{10FFFF}",
        "e\u{301}", "\u{E9}", "\u{202E}right to left", #"{"json": "\u0000"}"#,
    ])
    func givesBackEveryByte(text: String) throws {
        let kept = try #require(ClientString(text))
        #expect(Array(kept.string.utf8) == Array(text.utf8))
        #expect(ClientString(stored: kept.string) == kept)
    }

    @Test func canonicallyEquivalentTextsDiffer() {
        // Swift's String calls these two equal.
        #expect("\u{E9}" == "e\u{301}")
        #expect(ClientString("\u{E9}") != ClientString("e\u{301}"))
    }

    @Test func isBoundedInBytesAndNotInCharacters() {
        let longest = String(repeating: "a", count: ClientString.bytesMax)
        #expect(ClientString(longest) != nil)
        #expect(ClientString(longest + "a") == nil)
        let half = String(repeating: "é", count: ClientString.bytesMax / 2)
        #expect(ClientString(half) != nil)
        #expect(ClientString(half + "é") == nil)
    }

    @Test func doesNotTellItsContentToALog() throws {
        #expect("\(try #require(ClientString("secret")))" == "6 bytes")
    }
}
