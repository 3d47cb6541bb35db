import Foundation
import Testing
import TransferTestSupport

@testable import TransferWire

/// JSON that is a few bytes away from good JSON.
@Suite struct JSONFuzzTests {
    private static let samples = [
        #"{"url": "https://a.example/\u00e9", "n": [1, -2.5e3, true, null], "s": "\ud83d\ude00"}"#,
        #"[{"a": {"b": []}}, "", 0, 18446744073709551615, 1e400]"#, #""text""#, "12", "{}",
    ]
    private static let pieces = [
        "{", "}", "[", "]", ":", ",", "\\u", "\\ud800", "\\n", "null", "true", "1e9", "-0", ".5",
        "/**/",
        "\u{FEFF}",
    ]

    /// What the fast reader takes, the decoder takes as the same value.
    @Test func theFastReaderNeverTakesMoreThanTheDecoder() {
        var taken = 0
        for bytes in MutatedTexts(of: Self.samples, with: Self.pieces) {
            guard var reader = try? JSONReader(bytes), let value = try? reader.value(),
                (try? reader.finish()) != nil
            else { continue }
            taken += 1
            let text = String(decoding: bytes, as: UTF8.self)
            let decoded = try? WireDecoder.decode(JSONValue.self, from: bytes)
            #expect(decoded == value, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    /// What the decoder takes is JSON also to another parser.
    @Test func theDecoderTakesNothingThatIsNoJSON() {
        var taken = 0
        for bytes in MutatedTexts(of: Self.samples, with: Self.pieces) {
            guard (try? WireDecoder.decode(JSONValue.self, from: bytes)) != nil else { continue }
            taken += 1
            let other = try? JSONSerialization.jsonObject(
                with: Data(bytes),
                options: [.fragmentsAllowed]
            )
            #expect(other != nil, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func aTimestampIsReadAsItIsWritten() {
        let samples = [
            "2026-11-25T07:30:00Z", "2024-02-29T23:59:60.123456789+01:30", "0001-01-01t00:00:00z",
        ]
        var taken = 0
        for text in MutatedTexts(of: samples, with: ["-", ":", "T", "Z", "+24:00", "."]).strings {
            guard let timestamp = Timestamp(rfc3339: text) else { continue }
            taken += 1
            #expect(
                Timestamp(rfc3339: timestamp.rfc3339)?.rfc3339 == timestamp.rfc3339,
                "\(text.debugDescription)"
            )
        }
        #expect(taken > 100)
    }
}
