import Foundation
import StandardWebhooks
import Testing

@Suite struct WebhookVerifierTests {
    private let secret = SigningSecret.random()
    private let body = Array(#"{"type":"task.completed"}"#.utf8)
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func headers(
        age: Int64 = 0,
        signer: WebhookSigner? = nil
    ) -> [(name: String, value: String)] {
        (signer ?? WebhookSigner(secrets: [secret]))
            .headers(id: "0190b6d1", timestamp: 1_800_000_000 - age, body: body)
    }

    private func verify(
        _ headers: [(name: String, value: String)],
        body: [UInt8]? = nil
    ) -> WebhookVerificationError? {
        do throws(WebhookVerificationError) {
            try WebhookVerifier(secrets: [secret])
                .verify(headers: headers, body: body ?? self.body, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [0, 299, 300, -300] as [Int64])
    func acceptsAuthenticMessageWithinTolerance(age: Int64) {
        #expect(verify(headers(age: age)) == nil)
    }

    @Test(arguments: [301, -301, 86_400, Int64.min / 2, Int64.max / 2])
    func refusesReplayedMessage(age: Int64) {
        let error = verify(headers(age: age))
        #expect(error == .timestampOutOfTolerance || error == .invalidTimestamp)
    }

    @Test func refusesChangedBody() {
        #expect(verify(headers(), body: body + [0x20]) == .noMatchingSignature)
    }

    @Test func refusesChangedIdentifier() {
        var headers = headers()
        headers[0].value += "0"
        #expect(verify(headers) == .noMatchingSignature)
    }

    @Test func refusesChangedTimestamp() {
        var headers = headers()
        headers[1].value = "1800000001"
        #expect(verify(headers) == .noMatchingSignature)
    }

    @Test func refusesForeignSecret() {
        #expect(
            verify(headers(signer: WebhookSigner(secrets: [.random()]))) == .noMatchingSignature
        )
    }

    @Test func acceptsOneGoodSignatureAmongOthers() {
        var headers = headers(signer: WebhookSigner(secrets: [.random(), secret]))
        headers[2].value = "v1a,AAAA v1, v1,%%% nonsense " + headers[2].value
        #expect(verify(headers) == nil)
    }

    @Test(
        arguments: [(31, nil), (32, .noMatchingSignature)] as [(Int, WebhookVerificationError?)]
    )
    func checksNoMoreSignaturesThanItsMaximum(
        others: Int,
        error: WebhookVerificationError?
    ) {
        var headers = headers()
        headers[2].value = String(repeating: "v1,AAAA ", count: others) + headers[2].value
        #expect(verify(headers) == error)
    }

    /// Swift compares texts in a time that grows with the square of their combining marks.
    @Test(.timeLimit(.minutes(1))) func doesNotCompareCharacters() {
        var headers = headers()
        let marks = String(repeating: "\u{300}\u{323}\u{334}", count: 200_000)
        headers[2].value = "v\(marks),x " + headers[2].value
        #expect(verify(headers) == nil)
    }

    @Test func refusesSignatureOfAnotherVersion() {
        var headers = headers()
        headers[2].value = "v2" + headers[2].value.dropFirst(2)
        #expect(verify(headers) == .noMatchingSignature)
    }

    @Test func findsHeadersInAnyCase() {
        #expect(verify(headers().map { ($0.name.uppercased(), $0.value) }) == nil)
    }

    @Test(arguments: ["webhook-id", "webhook-timestamp", "webhook-signature"])
    func refusesMessageWithoutHeader(_ name: String) {
        #expect(verify(headers().filter { $0.name != name }) == .missingHeader(name))
    }

    @Test(arguments: ["", "+1800000000", "-1", "1800000000.5", "99999999999999999999", "now"])
    func refusesTimestampThatIsNoCountOfSeconds(_ text: String) {
        var headers = headers()
        headers[1].value = text
        #expect(verify(headers) == .invalidTimestamp)
    }
}
