import Testing
import TransferTestSupport

@testable import Curl

/// Heads of hostile origins, line by line, and addresses in text.
@Suite struct HeadFuzzTests {
    private static let lines = [
        "HTTP/1.1 200 OK\r\n", "HTTP/2 103\r\n", "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "ETag: \"a\"\r\n", "\r\n", " folded\r\n",
    ]

    @Test func aHeadStaysWithinItsLimits() {
        var heads = 0
        var parser = HeadParser(bytesMax: 400, linesMax: 12)
        for (index, line) in MutatedTexts(of: Self.lines, with: [":", "\n", "HTTP/", "chunked"])
            .enumerated()
        {
            if index % 12 == 0 {
                parser = HeadParser(bytesMax: 400, linesMax: 12)
                // Otherwise hardly any head would begin well.
                _ = Self.consume("HTTP/1.1 200 OK\r\n".utf8, &parser)
            }
            guard case .head(let head) = Self.consume(line, &parser) else { continue }
            heads += 1
            #expect((200...999).contains(head.status))
            #expect(head.headers.count <= 12)
            for (name, value) in head.headers {
                #expect(!name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) })
                #expect(!value.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 })
            }
        }
        #expect(heads > 50)
    }

    private static func consume(
        _ line: some Collection<UInt8>,
        _ parser: inout HeadParser
    ) -> HeadParser.Step {
        Array(line).withUnsafeBytes { parser.consume($0) }
    }

    @Test func aURLIsReadAsItIsWritten() throws {
        let samples = [
            "http://files.example/a?b=c#d", "https://[::1]:8443/", "http://bücher.example/ä",
            "http://1.2.3.4:80",
        ]
        var taken = 0
        for text in MutatedTexts(of: samples, with: ["@", ":", "/", "\\", "[", "]", "%", "①", "。"])
            .strings
        {
            guard let url = try? CurlURL(text) else { continue }
            taken += 1
            // A number that other digits spelt is written in full at the second reading.
            let again = try CurlURL(url.absoluteString)
            #expect(try CurlURL(again.absoluteString) == again, "\(text.debugDescription)")
            #expect(again.scheme == url.scheme && again.port == url.port)
            #expect(!url.host.contains("@"), "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }
}
