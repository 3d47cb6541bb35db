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
