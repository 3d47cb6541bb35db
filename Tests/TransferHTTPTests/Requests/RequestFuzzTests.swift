import Curl
import Foundation
import HTTPTypes
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferHTTP

/// What clients send beside bodies, a few bytes away from what is good.
@Suite struct RequestFuzzTests {
    /// Both parsers have to mean the same host, or a check of one says nothing about the other.
    @Test func everyAcceptedURLIsReadByLibcurlInTheSameWay() throws {
        let samples = [
            "http://files.example/a?b=c", "https://a.b.example:8443/x/y#z",
            "http://[2001:db8::1]:80/",
            "http://127.0.0.1/", "HTTP://EXAMPLE.org",
        ]
        let pieces = [
            "@", ":", "/", "//", "?", "#", "[", "]", "%2e", "..", ":80", "http://", "evil.example",
            "0x7f.1", "\\", "%40", ";",
        ]
        var taken = 0
        for text in MutatedTexts(of: samples, with: pieces).strings {
            guard let url = WebURL(text) else { continue }
            // libcurl may refuse more, and then nothing is sent.
            guard let curl = try? CurlURL(text) else { continue }
            taken += 1
            #expect(Int(curl.port) == url.port, "\(text.debugDescription)")
            #expect((curl.scheme == "https") == url.isSecure, "\(text.debugDescription)")
            let again = try CurlURL(curl.absoluteString)
            #expect(again.host == curl.host && again.port == curl.port, "\(text.debugDescription)")
            // A name is compared as it is written; libcurl rewrites addresses and escapes.
            if curl.host.utf8.allSatisfy({ $0 != 0x5B && !(0x30...0x39).contains($0) }),
                !url.host.contains("%")
            {
                #expect(curl.host.lowercased() == url.host.lowercased(), "\(text.debugDescription)")
            }
        }
        #expect(taken > 100)
    }

    @Test func anAcceptedKeyIsTheOneThatWasMade() {
        let key = APIKey.generate()
        var taken = 0
        for text in MutatedTexts(of: [key.serialized], with: ["_", "tdk", "a"]).strings {
            guard let read = APIKey(text) else { continue }
            taken += 1
            // One wrong character in four billion texts passes the checksum.
            #expect(read.serialized == text && text == key.serialized, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func anAcceptedCursorIsOneThatWasMade() {
        let samples: [Cursor] = [
            .key(id: "abc123"), .session(.default, identifier: "photos"),
        ]
        var taken = 0
        for text in MutatedTexts(of: samples.map(\.serialized), with: ["=", "-", "_", "A"]).strings
        {
            guard let cursor = Cursor(text) else { continue }
            taken += 1
            #expect(cursor.serialized == text, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func aRangeIsWithinItsContent() {
        for (size, text) in zip(
            [0, 1, 100, Int64.max].cycled(),
            MutatedTexts(of: ["bytes=0-99", "bytes=-5", "bytes=7-"], with: ["bytes=", "-", ","])
                .strings
        ) {
            guard case .part(let range) = ByteRange(text, size: size) else { continue }
            #expect(range.lowerBound >= 0 && range.upperBound <= size, "\(text.debugDescription)")
            #expect(!range.isEmpty, "\(text.debugDescription)")
        }
    }

    @Test func anIdempotencyKeyIsBounded() {
        var taken = 0
        for bytes in MutatedTexts(of: [#""a\"b\\c""#, "token-1"], with: ["\"", "\\"]) {
            guard let key = IdempotencyKey.parse(bytes) else { continue }
            taken += 1
            #expect((1...255).contains(key.count))
            #expect(key.allSatisfy { (0x20...0x7E).contains($0) }, "\(bytes)")
        }
        #expect(taken > 100)
    }

    @Test func aWaitIsBounded() {
        var taken = 0
        let samples = ["wait=30", "respond-async, wait=5; a=b"]
        for text in MutatedTexts(of: samples, with: ["wait=", ",", ";", "="]).strings {
            guard let wait = WaitPreference([.prefer: text]) else { continue }
            taken += 1
            #expect(
                (1...WaitPreference.secondsMax).contains(wait.seconds),
                "\(text.debugDescription)"
            )
        }
        #expect(taken > 100)
    }
}

extension Array {
    /// The elements over and over again.
    fileprivate func cycled() -> some Sequence<Element> {
        sequence(state: 0) { (index: inout Int) -> Element? in
            defer { index += 1 }
            return self[index % self.count]
        }
    }
}
