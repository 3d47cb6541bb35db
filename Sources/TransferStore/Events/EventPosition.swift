/// The position that a log of events has reached.
package struct EventPosition: Sendable {
    package let lastSequence: Int64
    /// Whether no more events can follow: the session is invalidated and its tasks have ended.
    package let isFinal: Bool

    package init(lastSequence: Int64, isFinal: Bool) {
        self.lastSequence = lastSequence
        self.isFinal = isFinal
    }
}
