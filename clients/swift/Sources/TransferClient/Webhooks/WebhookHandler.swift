public import Foundation
public import StandardWebhooks
import Synchronization
import TransferWire

/// Takes the webhooks of a subscription: verifies them, drops repetitions, and hands their events
/// to a program.
///
/// It works under any HTTP server: headers and body go in, a status comes out.
public final class WebhookHandler: Sendable {
    /// The number of messages that are remembered unless another is given; those of the service's
    /// longest pause between two attempts at one message a second.
    public static let rememberedMax = 50_000
    /// The most bytes of a message; the service sends none that is longer.
    public static let bodyBytesMax = 2 << 20

    private let secrets: Mutex<[SigningSecret]>
    private let recent: Mutex<RecentMessages>
    private let work: @Sendable (WebhookEvent) async throws -> WebhookAnswer

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - secrets: the subscription's secrets; during a rotation the old one and the new one.
    ///     While there is none, the response is 503, and messages come again.
    ///   - remembered: the number of messages by whose identifiers repetitions are recognized; 0
    ///     to hand all of them to the program. They are forgotten when the process ends, so what is
    ///     done for an event should be safe to do twice.
    ///   - work: what the program does for an event, within the 15 seconds that the service waits.
    ///     When it throws, the response is 503, and the message comes again.
    public init(
        secrets: [SigningSecret],
        remembered: Int = rememberedMax,
        work: @escaping @Sendable (WebhookEvent) async throws -> WebhookAnswer
    ) {
        self.secrets = Mutex(secrets)
        recent = Mutex(RecentMessages(countMax: remembered))
        self.work = work
    }

    /// Verifies messages by other secrets from now on: after a rotation, or once the subscription
    /// is made of a receiver that has to run before that.
    public func replaceSecrets(with secrets: [SigningSecret]) {
        self.secrets.withLock { $0 = secrets }
    }

    /// Handles a request.
    ///
    /// - Parameters:
    ///   - headers: the request's headers, in any case and order.
    ///   - body: the bytes as they arrived.
    ///   - now: the receiver's time; messages more than five minutes away from it are refused.
    /// - Returns: the status to respond with, and why it is not a success.
    public func handle(
        headers: [(name: String, value: String)],
        body: [UInt8],
        now: Date = Date()
    ) async -> WebhookOutcome {
        let secrets = secrets.withLock { $0 }
        guard !secrets.isEmpty else { return WebhookOutcome(status: 503, error: NoSecret()) }
        do throws(WebhookVerificationError) {
            try WebhookVerifier(secrets: secrets).verify(headers: headers, body: body, now: now)
        } catch {
            return WebhookOutcome(status: 401, error: error)
        }
        let events: [WebhookEvent]
        do {
            events = try Self.events(body)
        } catch {
            return WebhookOutcome(status: 422, error: error)
        }
        // The verifier has found the header.
        let id = headers.first { $0.name.lowercased() == "webhook-id" }?.value ?? ""
        switch recent.withLock({ $0.begin(id) }) {
        case .done: return WebhookOutcome(status: WebhookAnswer.done.status, isRepetition: true)
        case .inProgress:
            // The service gave up waiting for the first response; it is asked to come again.
            return WebhookOutcome(status: 503, isRepetition: true)
        case .new: return await perform(events, of: id)
        }
    }

    private func perform(_ events: [WebhookEvent], of id: String) async -> WebhookOutcome {
        var answer = WebhookAnswer.done
        do {
            for event in events {
                if case .later = try await work(event) { answer = .later }
            }
        } catch {
            recent.withLock { $0.end(id, isDone: false) }
            return WebhookOutcome(status: 503, error: error)
        }
        // After `later`, the message comes again when the acknowledgement does not, so that it
        // must not be taken for a repetition.
        recent.withLock { $0.end(id, isDone: answer == .done) }
        return WebhookOutcome(status: answer.status)
    }

    /// Returns the events of a message, which has one, several or none.
    private static func events(_ body: [UInt8]) throws -> [WebhookEvent] {
        switch try WireDecoder.decode(MessageType.self, fromAnswer: body).type {
        case TestMessage.type:
            [.test(try WireDecoder.decode(TestMessage.self, fromAnswer: body))]
        case "events.batch":
            try WireDecoder.decode(BatchMessage.self, fromAnswer: body).data.events
                .map { WebhookEvent($0) }
        default: [WebhookEvent(try WireDecoder.decode(EventMessage.self, fromAnswer: body))]
        }
    }

    private struct MessageType: Decodable {
        let type: String
    }

    private struct NoSecret: Error, CustomStringConvertible {
        var description: String { "The secret of the subscription is not known yet." }
    }
}
