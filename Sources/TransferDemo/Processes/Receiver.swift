import Foundation
import HTTPTypes
import Hummingbird
import Synchronization
import TransferWire

/// The subscriber: takes webhooks and keeps them as they came.
final class Receiver: Sendable {
    /// One webhook.
    struct Delivery: Sendable {
        let arrivedAt: Date
        let headers: [(name: String, value: String)]
        let body: [UInt8]
    }

    /// Where the service has to send webhooks to.
    static let path = "/webhook"
    /// Of one webhook: room for twenty failed tasks with the longest client strings, escaped.
    private static let bodyBytesMax = 16 * 1024 * 1024

    private let taken = Mutex<[Delivery]>([])

    /// The event that ends a generation of a session.
    static let finishType = "session.events_finished"

    /// All that has come, in order of arrival.
    var deliveries: [Delivery] { taken.withLock { $0 } }

    /// Whether the session was said to have finished.
    ///
    /// A look at the newest only: it is the last of its generation.
    var hasFinished: Bool {
        guard let body = deliveries.last?.body else { return false }
        let event = try? WireDecoder.decode(EventMessage.self, from: body)
        return event?.type == Self.finishType
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
