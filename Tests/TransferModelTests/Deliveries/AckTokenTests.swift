import Foundation
import Testing
import TransferModel

@Suite struct AckTokenTests {
    private let token = AckToken(
        session: SessionID(UUID()),
        sequence: 0x0102_0304_0506_0708,
        proof: (0..<24).map { $0 &* 11 }
    )

    @Test func isReadAsItWasWritten() {
        #expect(AckToken(serialized: token.serialized) == token)
        #expect(token.serialized.utf8.count == 64)
    }

    @Test func nothingElseIsRead() {
        let text = token.serialized
        for other in [
            "", "x", text + "A", String(text.dropLast()), String(text.dropLast()) + "=",
            String(text.dropLast()) + "é", text.replacingOccurrences(of: text.suffix(1), with: "!"),
        ] {
            #expect(AckToken(serialized: other) == nil)
        }
    }

    /// Anybody with a key can send one, and it is read between other requests.
    @Test(.timeLimit(.minutes(1))) func aLongTextIsNotSearched() {
        #expect(AckToken(serialized: String(repeating: "-", count: 100_000_000)) == nil)
    }
}
