package import Foundation
package import TransferModel

/// The place of an event in its log, which is known even if the event cannot be read.
package struct EventPlace: Equatable, Sendable {
    package let id: UUID
    package let sequence: Int64
    /// The position in the log it was read from, as that of a ``PositionedEvent``.
    package let position: Int64
    /// The event's kind; nil if this release does not know it.
    package let kind: SessionEvent.Kind?

    /// Reads a place; `position` is that in a feed.
    init(_ row: StoredRow, position: Int64? = nil) throws(StoreError) {
        id = try row.decode("id")
        sequence = try row.decode("sequence")
        self.position = position ?? sequence
        kind = SessionEvent.Kind(rawValue: try row.decode("kind"))
    }
}
