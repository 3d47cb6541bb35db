package import Foundation

/// The message that a pair tried last and is to try again, if it would still be the same.
package struct TriedMessage: Equatable, Sendable {
    /// The number of its last event.
    package let sequence: Int64
    /// Its `webhook-id` if it is a batch; nil for a message of one event.
    package let batch: UUID?

    package init(sequence: Int64, batch: UUID? = nil) {
        self.sequence = sequence
        self.batch = batch
    }
}
