import HTTPTypes
import TransferModel
import TransferStore
import TransferWire

/// A page in JSON that ends when it is full, by its bytes or by its items.
struct PageBytes {
    /// The maximum number of bytes in a page, which only a first item larger than this exceeds.
    static let max = 4 * 1024 * 1024
    /// The approximate number of bytes up to which a page is encoded in place; a larger one is
    /// encoded where it delays no other request.
    static let smallBytesMax = 128 * 1024
    /// The bytes of an item besides those that clients put into it.
    static let itemBytes = 1024
    /// The bytes reserved for what surrounds the items.
    private static let frameBytes = 1024

    private(set) var items: [UInt8] = []
    private(set) var count = 0

    /// Adds an item.
    ///
    /// - Returns: false when it does not fit.
    mutating func append(_ item: some Encodable) throws -> Bool {
        let bytes = try WireEncoder.encode(item)
        guard count == 0 || items.count + bytes.count + Self.frameBytes < Self.max else {
            return false
        }
        if count > 0 { items.append(UInt8(ascii: ",")) }
        items += bytes
        count += 1
        return true
    }

    /// Returns the page, with the members of the object `rest` after its items.
    func encoded(before rest: some Encodable) throws -> [UInt8] {
        let rest = try WireEncoder.encode(rest)
        let members = rest.dropFirst()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(items.count + rest.count + 16)
        bytes += #"{"items":["#.utf8
        bytes += items
        bytes += (rest.count > 2 ? "]," : "]").utf8
        bytes += members
        return bytes
    }
}

extension Answer {
    /// Returns a page of a list, which names what cannot be read.
    static func page<Value: Sendable, Place: Sendable>(
        _ page: ListPage<Value, Place>,
        document: @escaping @Sendable (Value) -> some Encodable & Sendable,
        place: @escaping @Sendable (Value) -> Place,
        cursor: @escaping @Sendable (Place) -> Cursor,
        name: (Place) -> String
    ) async throws -> Answer {
        try await .page(
            page.items,
            next: page.hasMore ? page.lastPlace.map(cursor) : nil,
            unreadable: page.unreadable.map(name),
            document: document,
            cursor: { cursor(place($0)) }
        )
    }

    /// Returns a page of the first `limit` of `values`; one more was read to find out whether a
    /// next page exists.
    static func page<Value: Sendable>(
        _ values: [Value],
        limit: Int,
        document: @escaping @Sendable (Value) -> some Encodable & Sendable,
        cursor: @escaping @Sendable (Value) -> Cursor
    ) async throws -> Answer {
        let page = Array(values.prefix(limit))
        return try await .page(
            page,
            next: values.count > limit ? page.last.map(cursor) : nil,
            document: document,
            cursor: cursor
        )
    }

    /// Returns a page of `values`, followed by the page at `next`; it ends earlier when it is full.
    ///
    /// `unreadable` names what cannot be read of the page.
    static func page<Value: Sendable>(
        _ values: [Value],
        next: Cursor?,
        byteCount: Int = 0,
        unreadable: [String] = [],
        document: @escaping @Sendable (Value) -> some Encodable & Sendable,
        cursor: @escaping @Sendable (Value) -> Cursor
    ) async throws -> Answer {
        let make: @Sendable () throws -> [UInt8] = {
            var page = PageBytes()
            for value in values {
                guard try page.append(document(value)) else { break }
            }
            let isCut = page.count < values.count
            let place = isCut && page.count > 0 ? cursor(values[page.count - 1]) : next
            return try page.encoded(before: PageEnd(next: place, unreadable: unreadable))
        }
        let isSmall = byteCount + values.count * PageBytes.itemBytes <= PageBytes.smallBytesMax
        let body = isSmall ? try make() : try await RequestResources.onJSONThreads(make)
        return Answer(status: .ok, body: body)
    }

    private struct PageEnd: Encodable {
        let hasMore: Bool
        let nextCursor: String?
        let unreadable: [String]?

        init(next: Cursor?, unreadable: [String]) {
            hasMore = next != nil
            nextCursor = next?.serialized
            self.unreadable = unreadable.isEmpty ? nil : unreadable
        }

        private enum CodingKeys: String, CodingKey {
            case hasMore = "has_more"
            case nextCursor = "next_cursor"
            case unreadable
        }
    }
}
