import Foundation
import TransferModel

/// What a message is called in the log of deliveries.
struct MessageName: Sendable {
    /// The identifier of the event or of the batch.
    let id: UUID
    /// The sequence of the message's last event.
    let sequence: Int64
    /// The batch; nil for a message of one event.
    let batch: MessageBatch?

    /// What is remembered of the message when it is tried.
    var tried: TriedMessage { TriedMessage(sequence: sequence, batch: batch?.id) }

    /// Returns whether the message has every event after `position` up to its last.
    func follows(_ position: Int64) -> Bool { sequence - Int64(batch?.count ?? 1) == position }
}
