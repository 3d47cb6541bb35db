/// A part of a session's events.
package struct EventPage: Codable, Sendable {
    /// The events of this page.
    package let items: [EventMessage]
    /// The next value of `after`: `session_id:sequence` of the last event of this page, or the one
    /// that the request named.
    package let next: String
    /// Whether there may be more events now.
    package let hasMore: Bool

    package init(items: [EventMessage], next: String, hasMore: Bool) {
        self.items = items
        self.next = next
        self.hasMore = hasMore
    }

    private enum CodingKeys: String, CodingKey {
        case items, next
        case hasMore = "has_more"
    }
}
