import Curl
import Foundation
import TransferModel

/// Sends one message once.
struct WebhookSender: Sendable {
    let curl: CurlLoop
    let egress: EgressGuard
    let userAgent: String
    let bounds: DeliveryBounds
    /// The time of day, for timestamps and for dates in answers.
    let now: @Sendable () -> Date

    /// Signs and posts the message's bytes to the subscription's URL.
    ///
    /// Cancelling the task ends the try as abandoned.
    func send(_ message: WebhookMessage, for claim: DeliveryClaim) async -> DeliveryOutcome {
        do throws(CurlError) {
            let answer = try await curl.fetch(
                request(message, for: claim),
                bodyMax: bounds.answerBytesMax,
                overflow: .truncate
            )
            return DeliveryOutcome(answer.head, now: now())
        } catch {
            return DeliveryOutcome(error)
        }
    }

    private func request(_ message: WebhookMessage, for claim: DeliveryClaim) -> CurlRequest {
        let timestamp = Int64(now().timeIntervalSince1970)
        let signature = WebhookSigner(secrets: [claim.secret])
            .headers(id: message.id, timestamp: timestamp, body: message.body)
        var request = CurlRequest(
            url: claim.url,
            method: "POST",
            headers: [("content-type", "application/json"), ("user-agent", userAgent)] + signature,
            body: message.body,
            egress: egress
        )
        request.connectTimeout = min(CurlRequest.connectTimeoutDefault, bounds.messageTimeout)
        request.inactivityTimeout = bounds.messageTimeout
        request.totalTimeout = bounds.messageTimeout
        // A receiver knows a message by its id, so libcurl may send it again over a fresh
        // connection when the kept one is dead.
        request.isReplayable = true
        return request
    }
}
