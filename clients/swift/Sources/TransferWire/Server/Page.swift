/// A part of a list, with the cursor of the next part.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
    /// The items of this page.
    public let items: [Item]
    /// The opaque cursor of the next page; absent on the last one.
    public let nextCursor: String?
    /// Whether there is a next page.
    public let hasMore: Bool
    /// What names the items of the page that the service cannot read; absent if there are none.
    public let unreadable: [String]?

    /// Creates the value from its parts.
    public init(items: [Item], nextCursor: String?, unreadable: [String]? = nil) {
        self.items = items
        self.nextCursor = nextCursor
        self.unreadable = unreadable
        hasMore = nextCursor != nil
    }

    private enum CodingKeys: String, CodingKey {
        case items, unreadable
        case nextCursor = "next_cursor"
        case hasMore = "has_more"
    }
}
