/// A part of a list, with the cursor of the next part.
package struct Page<Item: Codable & Sendable>: Codable, Sendable {
    /// The items of this page.
    package let items: [Item]
    /// The opaque cursor of the next page; absent on the last one.
    package let nextCursor: String?
    /// Whether there is a next page.
    package let hasMore: Bool
    /// The tasks of the page that the service cannot read; absent if there are none.
    package let unreadableTasks: [String]?

    package init(items: [Item], nextCursor: String?, unreadableTasks: [String]? = nil) {
        self.items = items
        self.nextCursor = nextCursor
        self.unreadableTasks = unreadableTasks
        hasMore = nextCursor != nil
    }

    private enum CodingKeys: String, CodingKey {
        case items
        case nextCursor = "next_cursor"
        case hasMore = "has_more"
        case unreadableTasks = "unreadable_tasks"
    }
}
