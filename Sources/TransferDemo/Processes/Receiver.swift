import Foundation
import HTTPTypes
import Hummingbird
import Synchronization
import TransferWire

/// The subscriber: accepts webhooks and keeps them as they came.
final class Receiver: Sendable {
    /// One webhook.
    struct Delivery: Sendable {
        let arrivedAt: Date
        let headers: [(name: String, value: String)]
        let body: [UInt8]
    }

    /// The path to which the service has to send webhooks.
    static let path = "/webhook"
    /// The size limit of one webhook: twenty failed tasks with the longest client strings, escaped.
    private static let bodyBytesMax = 16 * 1024 * 1024

    /// The pause between two looks at what has come.
    private static let checkInterval: Duration = .milliseconds(20)

    private let taken = Mutex<[Delivery]>([])

    /// The event that ends a generation of a session.
    static let finishType = "session.events_finished"

    /// All webhooks so far, in order of arrival.
    var deliveries: [Delivery] { taken.withLock { $0 } }

    /// Waits for the first webhook.
    func first() async throws { try await wait { !$0.isEmpty } }

    /// Waits for the webhook that says that the session has finished.
    ///
    /// Checks the newest one only: it is the last of its generation.
    func last() async throws {
        try await wait { deliveries in
            guard let body = deliveries.last?.body else { return false }
            let event = try? WireDecoder.decode(EventMessage.self, from: body)
            return event?.type == Self.finishType
        }
    }

    private func wait(until condition: ([Delivery]) -> Bool) async throws {
        while !condition(deliveries) { try await Task.sleep(for: Self.checkInterval) }
    }

    func add(to router: Router<BasicRequestContext>) {
        router.post(RouterPath(Self.path)) { request, _ in
            let body = try await request.body.collect(upTo: Self.bodyBytesMax)
            let delivery = Delivery(
                arrivedAt: .now,
                headers: request.headers.map { ($0.name.rawName, $0.value) },
                body: Array(body.readableBytesView)
            )
            self.taken.withLock { $0.append(delivery) }
            return HTTPResponse.Status.noContent
        }
    }
}
