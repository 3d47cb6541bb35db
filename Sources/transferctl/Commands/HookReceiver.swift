import StandardWebhooks
import Synchronization
import TransferClient
import TransferWire

/// Prints the events of authentic messages, once their secret is known.
final class HookReceiver: Sendable {
    private let handler = Mutex<WebhookHandler?>(nil)
    private let (faults, fault) = AsyncStream.makeStream(of: FileFault.self)

    /// Takes the secret of the subscription; nil when the service gave none.
    func use(_ secret: SigningSecret?) {
        handler.withLock { handler in
            handler = WebhookHandler(secrets: secret.map { [$0] } ?? []) { [fault] event in
                do {
                    switch event {
                    case .event(let event), .finished(let event, _, _):
                        try Output.json(event.message)
                    case .test(let message): try Output.json(message)
                    }
                } catch let error as FileFault {
                    fault.yield(error)
                    throw error
                }
                return .done
            }
        }
    }

    /// Waits until an event cannot be printed, and throws why.
    func untilUnprintable() async throws(FileFault) {
        for await fault in faults { throw fault }
    }

    /// Returns the status to respond with.
    func take(_ headers: [(name: String, value: String)], _ body: [UInt8]) async -> Int {
        // A message may come before the response that tells the secret; it comes again.
        guard let handler = handler.withLock({ $0 }) else { return 503 }
        let outcome = await handler.handle(headers: headers, body: body)
        if let error = outcome.error { Output.complain("refused: \(error)") }
        return outcome.status
    }
}
