/// A part of a session's events.
public struct EventPage: Codable, Sendable {
    /// The events of this page.
    public let items: [EventMessage]
    /// The next value of `after`: `session_id:sequence` of the last event of this page, or the one
    /// that the request named.
    public let next: String
    /// Whether there may be more events now.
    public let hasMore: Bool

    /// Creates the value from its parts.
    public init(items: [EventMessage], next: String, hasMore: Bool) {
        self.items = items
        self.next = next
        self.hasMore = hasMore
    }

    private enum CodingKeys: String, CodingKey {
        case items, next
        case hasMore = "has_more"
    }
}
