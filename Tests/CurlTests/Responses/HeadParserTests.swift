import Testing

@testable import Curl

@Suite
struct HeadParserTests {
    @Test func readsFieldsInOrder() throws {
        let head = try #require(
            parse("HTTP/1.1 206 Partial\r\nB: 2\r\na:  1 \t\r\nEmpty:\r\n\r\n")
        )
        #expect(head.status == 206)
        #expect(head.headers.map(\.name) == ["B", "a", "Empty"])
        #expect(head.headers.map(\.value) == ["2", "1", ""])
        #expect(head["A"] == "1")
        #expect(head["c"] == nil)
        #expect(head.contentLength == nil)
    }

    @Test func readsHTTP2StatusLine() throws {
        let head = try #require(parse("HTTP/2 200 \r\n\r\n"))
        #expect(head.httpVersion == "2")
    }

    @Test func joinsFoldedLine() throws {
        let head = try #require(parse("HTTP/1.1 200 OK\r\nA: b\r\n\t c\r\n\r\n"))
        #expect(head["A"] == "b c")
    }

    @Test func readsValueThatIsNotUTF8AsLatin1() throws {
        var bytes = Array("HTTP/1.1 200 OK\r\nA: x".utf8)
        bytes += [0xE9] + Array("\r\n\r\n".utf8)
        #expect(try #require(parse(bytes))["A"] == "x\u{E9}")
        #expect(try #require(parse("HTTP/1.1 200 OK\r\nA: xé\r\n\r\n"))["A"] == "xé")
    }

    /// A server may write the path of a redirect in any coding; only its bytes are right.
    @Test(
        arguments: [
            ([0x2F, 0xE9, 0x3F, 0xFF], "/%E9?%FF"), (Array("/%41é".utf8), "/%41é"),
            (Array("/a\r\n ".utf8) + [0x80], "/a %80"),
        ] as [([UInt8], String)]
    )
    func escapesBytesOfALocationThatAreNotUTF8(value: [UInt8], expected: String) throws {
        let bytes = Array("HTTP/1.1 302 Found\r\nlocation: ".utf8) + value
        #expect(try #require(parse(bytes + Array("\r\n\r\n".utf8)))["Location"] == expected)
    }

    /// Swift compares texts in a time that grows with the square of their combining marks.
    @Test func readsValueThatTakesLongToCompareAsLatin1() throws {
        let few = "\u{301}\u{323}\u{334}"
        let many = String(repeating: few, count: 10_000)
        let text = "HTTP/1.1 200 OK\r\nA: e\(few)\r\nB: e\(many)\r\n\r\n"
        let head = try #require(parse(text, bytesMax: 1 << 20))
        #expect(head["A"] == "e\(few)")
        #expect(head["B"]?.utf8.count == 1 + 2 * many.utf8.count)
    }

    @Test func transferCodingOverridesLength() throws {
        let head = try #require(
            parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")
        )
        #expect(head.contentLength == nil)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n: a\r\n\r\n", "HTTP/1.1 200 OK\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 099 No\r\n\r\n",
        "HTTPS/1.1 200 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n", "HTTP/1.1 +20 OK\r\n\r\n",
    ])
    func rejects(_ text: String) {
        #expect(parse(text) == nil)
    }

    private static let informational = "HTTP/1.1 104\r\n\r\n"
    private static let answer = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"

    @Test(arguments: ["", informational, "HTTP/1.1 104 OK\r\nA: b\r\n\r\n"])
    func countsEachLineAndByteOfAHead(before: String) {
        let text = before + Self.answer
        let (bytes, lines) = (Self.answer.utf8.count, 3)
        #expect(parse(text, bytesMax: bytes, linesMax: lines) != nil)
        #expect(parse(text, bytesMax: bytes - 1, linesMax: lines) == nil)
        #expect(parse(text, bytesMax: bytes, linesMax: lines - 1) == nil)
    }

    @Test func countsTheBytesOfAllInformationalHeads() {
        let count = HeadParser.informationalBytesMax / Self.informational.utf8.count
        let most = String(repeating: Self.informational, count: count)
        #expect(parse(most + Self.answer) != nil)
        #expect(parse(most + Self.informational + Self.answer) == nil)
    }

    private func parse(
        _ text: String,
        bytesMax: Int = 10_000,
        linesMax: Int = 100
    ) -> ResponseHead? {
        parse(Array(text.utf8), bytesMax: bytesMax, linesMax: linesMax)
    }

    /// Feeds a head line by line, as libcurl does.
    private func parse(
        _ bytes: [UInt8],
        bytesMax: Int = 10_000,
        linesMax: Int = 100
    ) -> ResponseHead? {
        var parser = HeadParser(bytesMax: bytesMax, linesMax: linesMax)
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 10) {
            let line = Array(rest[...end])
            rest = rest[(end + 1)...]
            switch line.withUnsafeBytes({ parser.consume($0) }) {
            case .more, .informational: continue
            case .head(let head): return head
            case .rejected: return nil
            }
        }
        return nil
    }
}
