import Foundation
import Testing
import TransferStore

@Suite struct AuditBlockTests {
    @Test(arguments: [
        "", "7", "7:", "0:" + String(repeating: "0", count: 64), "7:zz", "7:0:0",
        "+7:" + String(repeating: "0", count: 64), "7:" + String(repeating: "+0", count: 32),
    ])
    func whatIsNoBlockIsNotReadAsOne(text: String) {
        #expect(AuditBlock(text) == nil)
    }

    @Test func aBlockIsReadAsItIsWritten() {
        let block = AuditBlock(number: 7, sha256: (0..<32).map { UInt8($0 * 7) })
        #expect(AuditBlock("\(block)") == block)
    }
}
