import Curl
import Foundation
import TransferModel

/// Sends one message once.
package struct WebhookSender: Sendable {
    let curl: CurlLoop
    let egress: EgressGuard
    let userAgent: String
    let bounds: DeliveryBounds
    /// The time of day, for timestamps and for dates in answers.
    let now: @Sendable () -> Date

    /// Whether a field is the service's own in every message, so that no owner of a subscription
    /// may set it; `name` in lower case.
    package static func isReserved(_ name: String) -> Bool {
        name.hasPrefix("webhook-")
            || ["content-type", "content-encoding", "user-agent"].contains(name)
    }

    /// Signs and posts the message's bytes to the subscription's URL.
    ///
    /// Cancelling the task ends the try as abandoned.
    func send(_ message: WebhookMessage, to endpoint: Endpoint) async -> DeliveryOutcome {
        do throws(CurlError) {
            let answer = try await curl.fetch(
                request(message, to: endpoint),
                bodyMax: bounds.answerBytesMax,
                overflow: .truncate
            )
            return DeliveryOutcome(answer.head, now: now())
        } catch {
            return DeliveryOutcome(error)
        }
    }

    private func request(_ message: WebhookMessage, to endpoint: Endpoint) -> CurlRequest {
        let timestamp = Int64(now().timeIntervalSince1970)
        let signature = WebhookSigner(secrets: endpoint.secrets)
            .headers(id: message.id, timestamp: timestamp, body: message.body)
        var request = CurlRequest(
            url: endpoint.url,
            method: "POST",
            headers: [("content-type", "application/json"), ("user-agent", userAgent)] + signature
                + endpoint.headers.map { ($0.name, $0.value) },
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
