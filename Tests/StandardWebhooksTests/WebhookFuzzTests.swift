import Foundation
import StandardWebhooks
import Testing

/// Messages that are one change away from a good one: none of them verifies.
@Suite struct WebhookFuzzTests {
    @Test func noChangeOfAMessageVerifies() throws {
        let secret = SigningSecret(bytes: (0..<32).map { UInt8($0) })
        let body = Array(#"{"type":"task.completed"}"#.utf8)
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let headers = WebhookSigner(secrets: [secret]).headers(
            id: "msg_1",
            timestamp: 1_800_000_000,
            body: body
        )
        let verifier = WebhookVerifier(secrets: [secret])
        try verifier.verify(headers: headers, body: body, now: now)
        for index in body.indices {
            for bit in 0..<8 {
                var changed = body
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: WebhookVerificationError.self) {
                    try verifier.verify(headers: headers, body: changed, now: now)
                }
            }
        }
        for (place, header) in headers.enumerated() {
            for index in header.value.utf8.indices {
                var bytes = Array(header.value.utf8)
                bytes[header.value.utf8.distance(from: header.value.startIndex, to: index)] ^= 1
                var changed = headers
                changed[place].value = String(decoding: bytes, as: UTF8.self)
                #expect(throws: WebhookVerificationError.self, "\(changed[place])") {
                    try verifier.verify(headers: changed, body: body, now: now)
                }
            }
        }
    }
}
