import Foundation
import StandardWebhooks
import Testing

@Suite struct WebhookSignerTests {
    /// The test vector of the libraries of Standard Webhooks.
    private let body = Array(#"{"test": 2432232314}"#.utf8)
    private let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private let timestamp: Int64 = 1_614_265_330
    private let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    private func secret() throws -> SigningSecret {
        try #require(SigningSecret(serialized: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    }

    @Test func signsThePublishedVector() throws {
        let headers = WebhookSigner(secrets: [try secret()])
            .headers(id: id, timestamp: timestamp, body: body)
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(headers.map(\.value) == [id, "1614265330", signature])
    }

    @Test func listsASignatureForEachSecretOfARotation() throws {
        let headers = WebhookSigner(secrets: [.random(), try secret()])
            .headers(id: id, timestamp: timestamp, body: body)
        let signatures = headers[2].value.split(separator: " ")
        #expect(signatures.count == 2)
        #expect(signatures[1] == signature)
    }

    @Test func readsBackASerializedSecret() {
        let secret = SigningSecret.random()
        #expect(SigningSecret(serialized: secret.serialized)?.bytes == secret.bytes)
    }

    @Test(arguments: [
        "", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_not base64 at all, is it?",
    ])
    func refusesWhatIsNoSecret(_ text: String) {
        #expect(SigningSecret(serialized: text) == nil)
    }

    @Test func neverPrintsASecret() throws {
        let secret = try secret()
        #expect(!"\(secret)".contains("MfKQ"))
    }
}
