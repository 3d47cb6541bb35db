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
    /// What to ask `after` next: `session_id:sequence` of the last event of this page, or of the one
    /// asked for.
    package let next: String

    package init(items: [EventMessage], next: String) {
        self.items = items
        self.next = next
    }
}
