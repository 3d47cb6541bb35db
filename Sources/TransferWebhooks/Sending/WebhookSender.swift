import CLinux
package import Curl
package import Foundation
import StandardWebhooks
import TransferModel

/// A sender of single messages, each tried once.
package struct WebhookSender: Sendable {
    let curl: CurlLoop
    let egress: EgressGuard
    let userAgent: String
    let bounds: DeliveryBounds
    /// Returns the time of day, for timestamps and for dates in answers.
    let now: @Sendable () -> Date
    /// What has become of its messages.
    package let counters = DeliveryCounters()

    /// - Parameters:
    ///   - curl: a loop that is used for subscribers only.
    ///   - egress: decides which addresses subscribers may have, at every try.
    ///   - version: of this program, for the `user-agent`.
    ///   - bounds: how long a try may take, and how much of an answer is read.
    ///   - now: the time of day.
    package init(
        curl: CurlLoop,
        egress: EgressGuard,
        version: String,
        bounds: DeliveryBounds = DeliveryBounds(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.curl = curl
        self.egress = egress
        userAgent = "transferd/\(version)"
        self.bounds = bounds
        self.now = now
    }

    /// Whether the service itself sets a field in every message, so that no owner of a subscription
    /// may set it; `name` is in lower case.
    package static func isReserved(_ name: String) -> Bool {
        name.hasPrefix("webhook-")
            || ["content-type", "content-encoding", "user-agent"].contains(name)
    }

    /// Signs and posts the message's bytes to the subscription's URL.
    ///
    /// Cancelling the task ends the try as abandoned.
    ///
    /// - Parameters:
    ///   - message: what to send.
    ///   - endpoint: where to.
    ///   - tenant: the tenant, whose rules say where its messages may go, and whose name lookups
    ///     take turns with those of other tenants.
    /// - Returns: how the try went.
    func send(
        _ message: WebhookMessage,
        to endpoint: Endpoint,
        of tenant: TenantID
    ) async -> SentMessage {
        let start = ContinuousClock.now
        let time = now()
        let outcome: DeliveryOutcome
        var answer: String?
        do throws(CurlError) {
            let response = try await curl.fetch(
                request(message, to: endpoint, of: tenant),
                bodyMax: bounds.answerBytesMax,
                overflow: .truncate
            )
            outcome = DeliveryOutcome(response.head, now: now())
            answer = AnswerExcerpt.text(of: response.body)
        } catch {
            outcome = DeliveryOutcome(Self.explained(error))
        }
        let sent = SentMessage(
            at: time,
            duration: .now - start,
            outcome: outcome,
            answer: answer
        )
        counters.count(sent)
        return sent
    }

    /// Returns the failure, or the lack of descriptors if that may be the cause: without a free
    /// descriptor no name is resolved and no file of certificate authorities is read.
    private static func explained(_ error: CurlError) -> CurlError {
        let mayLack: [CurlError.Code] = [
            .couldNotResolve, .proxyUnreachable, .tlsFailure, .authoritiesUnusable,
            .tlsDisagreement,
        ]
        guard mayLack.contains(error.code), !clinux_has_descriptors() else { return error }
        return CurlError(.outOfDescriptors, summary: error.summary)
    }

    private func request(
        _ message: WebhookMessage,
        to endpoint: Endpoint,
        of tenant: TenantID
    ) -> CurlRequest {
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
        request.group = tenant.uuid
        request.httpVersion = .choice(for: .message)
        request.connectTimeout = min(CurlRequest.connectTimeoutDefault, bounds.messageTimeout)
        request.inactivityTimeout = bounds.messageTimeout
        request.totalTimeout = bounds.messageTimeout
        // A receiver knows a message by its id, so libcurl may send it once more over a fresh
        // connection when the kept one is dead.
        request.isReplayable = true
        return request
    }
}
