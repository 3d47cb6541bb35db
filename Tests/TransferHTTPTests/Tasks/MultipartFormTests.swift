import Foundation
import Testing
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The bytes of a form with files.
@Suite struct MultipartFormTests {
    private func content(
        _ parts: [BodyRequest.Part],
        seed: UInt64 = 1
    ) throws -> (text: String, boundary: String) {
        var random = SeededGenerator(state: seed)
        let form = MultipartForm(parts) { Issue.record("\($0): \($1)") }
        let content = try #require(form).content(using: &random)
        let type = try #require(content.type)
        #expect(type.hasPrefix("multipart/form-data; boundary=form-"))
        return (
            String(decoding: content.bytes, as: UTF8.self),
            String(type.dropFirst("multipart/form-data; boundary=".count))
        )
    }

    private func faults(_ parts: [BodyRequest.Part]) -> [String] {
        var faults: [String] = []
        _ = MultipartForm(parts) { place, _ in faults.append(place) }
        return faults
    }

    @Test func partsAreSentInTheirOrder() throws {
        let (text, boundary) = try content([
            BodyRequest.Part(name: "title", text: "gr\u{FC}n"),
            BodyRequest.Part(name: "file", base64: "AQI=", filename: "a.bin"),
            BodyRequest.Part(name: "note", text: "", filename: "n", contentType: "text/csv"),
        ])
        let expected = """
            --\(boundary)\r
            Content-Disposition: form-data; name="title"\r
            \r
            gr\u{FC}n\r
            --\(boundary)\r
            Content-Disposition: form-data; name="file"; filename="a.bin"\r
            Content-Type: application/octet-stream\r
            \r
            \u{01}\u{02}\r
            --\(boundary)\r
            Content-Disposition: form-data; name="note"; filename="n"\r
            Content-Type: text/csv\r
            \r
            \r
            --\(boundary)--\r

            """
        #expect(Array(text.utf8) == Array(expected.utf8))
    }

    @Test func aNameEndsNoLineAndNoQuotes() throws {
        let name = "a\"\r\nX: y\u{301}\n%22;\\"
        let (text, boundary) = try content([
            BodyRequest.Part(name: name, text: "", filename: name)
        ])
        let escaped = "a%22%0D%0AX: y\u{301}%0A%22;\\"
        let expected = """
            --\(boundary)\r
            Content-Disposition: form-data; name="\(escaped)"; filename="\(escaped)"\r
            Content-Type: text/plain; charset=utf-8\r
            \r
            \r
            --\(boundary)--\r

            """
        #expect(Array(text.utf8) == Array(expected.utf8))
    }

    /// The first boundary that the generator makes is in a part, once in each place.
    @Test func theBoundaryIsInNoPart() throws {
        let (_, first) = try content([BodyRequest.Part(name: "a", text: "")])
        let (again, same) = try content([BodyRequest.Part(name: "a", text: "b")])
        #expect(first == same && again.contains(first))
        for part in [
            BodyRequest.Part(name: "a", text: "x\r\n--\(first)--"),
            BodyRequest.Part(name: first, text: ""),
            BodyRequest.Part(name: "a", text: "", filename: first),
        ] {
            let (_, other) = try content([part])
            #expect(other != first)
        }
    }

    @Test func itHasBounds() throws {
        let part = BodyRequest.Part(name: "a", text: "b")
        #expect(faults(Array(repeating: part, count: MultipartForm.partsMax)).isEmpty)
        #expect(faults(Array(repeating: part, count: MultipartForm.partsMax + 1)) == [""])
        #expect(faults([]) == [""])
        let long = String(repeating: "x", count: MultipartForm.nameBytesMax + 1)
        let wrong = [
            BodyRequest.Part(name: long, text: ""),
            BodyRequest.Part(name: "a", text: "", filename: long),
            BodyRequest.Part(name: "a", text: "", contentType: "a/\(long)"),
        ]
        #expect(faults(wrong) == ["/0/name", "/1/filename", "/2/content_type"])
        let longest = String(long.dropLast())
        #expect(faults([BodyRequest.Part(name: longest, text: "", filename: longest)]).isEmpty)
    }
}
