/// How far a log of events has come.
package struct EventPosition: Sendable {
    package let lastSequence: Int64
    /// Whether nothing can happen any more: the session is invalidated and its tasks have ended.
    package let isFinal: Bool
}
