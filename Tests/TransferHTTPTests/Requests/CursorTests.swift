import Foundation
import Testing
import TransferModel

@testable import TransferHTTP

@Suite struct CursorTests {
    @Test func isReadBackFromItsText() {
        let cursors: [Cursor] = [
            .session(.default, identifier: "é/\u{1}"), .task(TaskID(.version7())),
            .session(
                ClientID(stored: String(repeating: "c", count: 64)),
                identifier: String(repeating: "x", count: 255)
            ),
            .subscription(SubscriptionID(.version7())),
        ]
        for cursor in cursors {
            #expect(Cursor(cursor.serialized) == cursor)
            #expect(
                cursor.serialized.utf8.allSatisfy { byte in
                    byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                        || HTTPHeader.isTokenByte(byte)
                }
            )
        }
    }

    @Test func refusesWhatItDidNotMake() {
        let good = Cursor.task(TaskID(.version7())).serialized
        let forged: [[UInt8]] = [
            [], [1], [1, 1], [2, 1, 97], [1, 9, 97], [1, 1, 0], [1, 1, 0xFF], [1, 2, 1],
            [1, 1] + [UInt8](repeating: 97, count: 256), [1, 2] + [UInt8](repeating: 0, count: 17),
        ]
        for bytes in forged {
            let text = Data(bytes).base64EncodedString().replacingOccurrences(of: "=", with: "")
            #expect(Cursor(text) == nil, "\(bytes)")
        }
        for text in ["", "!", "\(good)=", "\(good)A", " \(good)", String(good.dropLast())] {
            #expect(Cursor(text) == nil, "\(text)")
        }
    }
}
