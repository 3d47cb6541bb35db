/// A place in the log of a session, or among all events of the tenant: behind an event, or before
/// the first.
public struct EventCursor: Hashable, Sendable, CustomStringConvertible {
    /// The text, as `id` of a stream and `next` of a page have it.
    public let description: String

    /// Reads the text of a cursor that was kept.
    public init(_ text: String) { description = text }

    /// Names the place behind an event of a session, by the session's own identifier.
    public init(sessionID: String, sequence: Int64) { description = "\(sessionID):\(sequence)" }
}
