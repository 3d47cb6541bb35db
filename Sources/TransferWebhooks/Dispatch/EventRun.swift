import TransferModel

/// The next events of a pair, gathered page by page until there are enough for a message.
struct EventRun: Sendable {
    private struct Item {
        let event: SessionEvent
        /// In JSON; not counted where each event has its own message.
        let bytes: Int
    }

    private let subscription: SubscriptionID
    private let form: DeliveryForm
    /// Whether the first message is tried again.
    private let isRetry: Bool
    /// The last event of the batch that is tried again; nil where it has one event.
    private let batchThrough: Int64?
    private var items: [Item] = []
    private var bytes = 0
    private var span = 0
    /// The last event looked at.
    private(set) var position: Int64
    /// Whether more may be there.
    private(set) var hasMore = true

    init(_ held: HeldClaim) {
        subscription = held.claim.subscription
        form = held.claim.form
        isRetry = held.tries > 0
        batchThrough = held.batchThrough
        position = held.cursor
    }

    /// Whether nothing more is to be read before messages are sent.
    var isFull: Bool {
        guard hasMore else { return true }
        // A batch that is tried again is read to its end, for it was within bounds.
        if let batchThrough, position < batchThrough { return false }
        return form == .single || items.count >= MessageBatch.eventsMax
            || bytes >= MessageBatch.bytesMax || span >= MessageBatch.spanMax
    }

    /// How many events to read next, where a page may have `most`: no more than a batch has room for,
    /// so that none is begun with what is left over.
    func pageLimit(_ most: Int) -> Int {
        form == .single ? most : min(most, max(1, MessageBatch.eventsMax - items.count))
    }

    /// Takes a page, of which only events that are `wanted` are kept.
    mutating func add(
        _ page: [SessionEvent],
        hasMore: Bool,
        wanted: (SessionEvent) -> Bool,
        size: (SessionEvent) -> Int
    ) {
        self.hasMore = hasMore
        position = page.last?.sequence ?? position
        span += page.count
        for event in page where wanted(event) {
            let size = form == .batch ? size(event) : 0
            bytes += size
            items.append(Item(event: event, bytes: size))
        }
    }

    /// The messages to send, in order.
    var parcels: [Parcel] {
        var parcels: [Parcel] = []
        var rest = items[...]
        if isRetry {
            // In the form in which it was tried before, whatever the subscription says now.
            let through = batchThrough
            let tried = rest.prefix { item in
                // One that is asked for only since then is alone all the same.
                item.event.kind != .sessionEventsFinished
                    && (through.map { item.event.sequence <= $0 } ?? false)
            }
            if let parcel = Parcel(batch: tried.map(\.event), of: subscription) {
                parcels.append(parcel)
                rest = rest.dropFirst(tried.count)
            } else if let item = rest.popFirst() {
                parcels.append(Parcel(item.event))
            }
        }
        while let item = rest.first {
            let count = form == .single ? 0 : Self.batchCount(rest)
            if let parcel = Parcel(batch: rest.prefix(count).map(\.event), of: subscription) {
                parcels.append(parcel)
            } else {
                parcels.append(Parcel(item.event))
            }
            rest = rest.dropFirst(max(count, 1))
        }
        return parcels
    }

    /// How many of the next events go together; none when the first is to be alone.
    private static func batchCount(_ items: ArraySlice<Item>) -> Int {
        var bytes = 0
        var count = 0
        for item in items.prefix(MessageBatch.eventsMax) {
            // Its answer says that all of the session is done, and so can be said of it alone.
            guard item.event.kind != .sessionEventsFinished else { break }
            bytes += item.bytes
            guard count == 0 || bytes <= MessageBatch.bytesMax else { break }
            count += 1
        }
        return count
    }
}
