import Foundation
import StandardWebhooks
import TransferTestSupport
import TransferWire

/// A message as it reached a subscriber, with its events.
struct ArrivedMessage: Sendable {
    let id: String
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    /// The events in order; none when the body cannot be read.
    let events: [EventMessage]
    let isBatch: Bool
    /// Whether the message was answered with 2xx, as far as the subscriber knows.
    let isTaken: Bool
    private let arrivedAt = Date()

    init(_ request: OriginRequest, _ answer: ReceiverAnswer) {
        id = request["webhook-id"] ?? ""
        headers = request.headers
        body = request.body
        isTaken = answer == .taken || answer == .takenLate
        let data = Data(body)
        if let batch = try? JSONDecoder().decode(BatchMessage.self, from: data) {
            isBatch = true
            events = batch.data.events
        } else {
            isBatch = false
            events = (try? JSONDecoder().decode(EventMessage.self, from: data)).map { [$0] } ?? []
        }
    }

    var session: String { events.first?.data.sessionIdentifier ?? "" }

    /// Returns whether its signature is that of a receiver's secret.
    func isSigned(_ verifier: WebhookVerifier) -> Bool {
        do {
            try verifier.verify(headers: headers, body: body, now: arrivedAt)
            return true
        } catch {
            return false
        }
    }
}
