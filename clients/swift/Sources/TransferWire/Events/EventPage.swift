/// A part of a session's events.
public struct EventPage: Codable, Sendable {
    /// The events of this page.
    public let items: [EventMessage]
    /// The next value of `after`: the position of the last event of this page, or the one that the
    /// request named.
    public let next: String
    /// Whether there may be more events now.
    public let hasMore: Bool

    /// The identifiers of the events that the service cannot read; absent if there are none.
    public let unreadable: [String]?

    /// Creates the value from its parts.
    public init(
        items: [EventMessage],
        next: String,
        hasMore: Bool,
        unreadable: [String]? = nil
    ) {
        self.items = items
        self.next = next
        self.hasMore = hasMore
        self.unreadable = unreadable
    }

    private enum CodingKeys: String, CodingKey {
        case items, next, unreadable
        case hasMore = "has_more"
    }
}
