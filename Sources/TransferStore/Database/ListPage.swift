/// A part of a list: the items that this release can read, and the places of those that it cannot.
///
/// A row that cannot be read, as one of a later release or one that was sealed with another key,
/// holds up no other. It counts as one of the page.
package struct ListPage<Item: Sendable, Place: Sendable>: Sendable {
    /// The items that can be read, in the order of the list.
    package let items: [Item]
    /// The places of the items that cannot be read.
    package let unreadable: [Place]
    /// The place of the last item, whether it can be read or not; nil if the page has none or was
    /// shortened.
    package let lastPlace: Place?
    /// Whether further items follow.
    package let hasMore: Bool

    init(items: [Item], unreadable: [Place], lastPlace: Place?, hasMore: Bool) {
        self.items = items
        self.unreadable = unreadable
        self.lastPlace = lastPlace
        self.hasMore = hasMore
    }

    /// Decodes `limit` rows; one more shows that there is another page.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when a row has no place.
    init(
        _ rows: StoredRows,
        limit: Int,
        place: (StoredRow) throws(StoreError) -> Place,
        item: (StoredRow) throws(StoreError) -> Item
    ) throws(StoreError) {
        var items: [Item] = []
        var unreadable: [Place] = []
        var lastPlace: Place?
        for row in rows.prefix(limit) {
            let place = try place(row)
            lastPlace = place
            do throws(StoreError) {
                items.append(try item(row))
            } catch {
                unreadable.append(place)
            }
        }
        self.items = items
        self.unreadable = unreadable
        self.lastPlace = lastPlace
        hasMore = rows.count > limit
    }
}

/// The items that can be read.
extension ListPage: RandomAccessCollection {
    package var startIndex: Int { items.startIndex }
    package var endIndex: Int { items.endIndex }

    package subscript(position: Int) -> Item { items[position] }
}
