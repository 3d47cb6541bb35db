import Foundation
import TransferWire

/// The parsed webhooks of a run, in the order in which they came.
struct Timeline: Sendable {
    struct Entry: Sendable {
        let delivery: Receiver.Delivery
        let event: EventMessage
        /// The time since the batch was submitted.
        let offset: Duration
    }

    /// The number of characters of a client string that are enough to recognise it.
    private static let excerptLength = 24

    let entries: [Entry]

    /// - Throws: when a body is no event.
    init(_ deliveries: [Receiver.Delivery], since start: Date) throws {
        entries = try deliveries.map { delivery in
            Entry(
                delivery: delivery,
                event: try WireDecoder.decode(EventMessage.self, from: delivery.body),
                offset: .seconds(delivery.arrivedAt.timeIntervalSince(start))
            )
        }
    }

    /// The lines to print, one for each webhook.
    var lines: [String] {
        entries.map { entry in
            let time = Text.padded("\(Text.milliseconds(entry.offset)) ms", to: 10)
            let number = Text.padded("#\(entry.event.data.sequence)", to: 5)
            return "\(time) \(number)  \(entry.event.type)\(Self.detail(entry.event.data))"
        }
    }

    private static func detail(_ data: EventMessage.Content) -> String {
        if let completed = data.completed, let failed = data.failed {
            return "  \(completed) completed, \(failed) failed"
        }
        guard let task = data.task else { return "" }
        let name = Text.excerpt(task.clientPersistedString ?? "", length: excerptLength)
        let error = task.error.map { "  \($0.code) \($0.httpStatus.map(String.init) ?? "")" }
        return "  \(name)\(error ?? "")"
    }
}
