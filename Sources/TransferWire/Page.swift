/// A part of a list, with the cursor of the next part.
package struct Page<Item: Codable & Sendable>: Codable, Sendable {
    package let items: [Item]
    /// Opaque; absent on the last page.
    package let nextCursor: String?

    package init(items: [Item], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    private enum CodingKeys: String, CodingKey {
        case items
        case nextCursor = "next_cursor"
    }
}

/// A part of a session's events.
package struct EventPage: Codable, Sendable {
    package let items: [EventMessage]
    /// What to ask `after` next: the last sequence of this page, or the one asked for.
    package let next: Int64

    package init(items: [EventMessage], next: Int64) {
        self.items = items
        self.next = next
    }
}
