/// An event at its position in the log it was read from.
package struct PositionedEvent: Sendable {
    /// The position, from 1: the event's sequence in the log of its session, another number in the
    /// feed of its tenant.
    package let position: Int64
    package let event: SessionEvent

    package init(position: Int64, event: SessionEvent) {
        self.position = position
        self.event = event
    }
}
