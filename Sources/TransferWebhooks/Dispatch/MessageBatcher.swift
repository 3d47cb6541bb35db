import TransferModel

/// The next events of a pair, gathered page by page until there are enough for a message.
struct MessageBatcher: Sendable {
    private struct Item {
        let event: SessionEvent
        /// The size in JSON; not counted where no batch is made.
        let bytes: Int
    }

    private let subscription: SubscriptionID
    private let form: DeliveryForm
    /// Whether the first message is a retry.
    private let isRetry: Bool
    /// The last event of the batch that is retried; nil when the retried message has one event.
    private let batchThrough: Int64?
    private var items: [Item] = []
    private var bytes = 0
    private var span = 0
    /// The last event examined.
    private(set) var position: Int64
    /// Whether there may be more events.
    private(set) var hasMore = true

    init(_ held: HeldDelivery) {
        subscription = held.claim.subscription
        form = held.claim.form
        isRetry = held.isRetry
        batchThrough = held.batchThrough
        position = held.cursor
    }

    /// Whether no more events are to be read before messages are sent.
    var isFull: Bool {
        guard hasMore, items.count < MessageBatch.eventsMax, bytes < MessageBatch.bytesMax else {
            return true
        }
        // A batch that is retried is read to its end. It was within bounds, and is again unless
        // other events are asked for since then.
        if let batchThrough, position < batchThrough { return false }
        return form == .single || span >= MessageBatch.spanMax
    }

    /// Returns the number of events to read next, where a page may have `most`.
    ///
    /// It is no more than a batch has room for, so that no batch starts with left-over events.
    func pageLimit(_ most: Int) -> Int {
        form == .single ? most : min(most, max(1, MessageBatch.eventsMax - items.count))
    }

    /// Adds a page, of which only the `wanted` events are kept.
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
            let size = form == .batch || batchThrough != nil ? size(event) : 0
            bytes += size
            items.append(Item(event: event, bytes: size))
        }
    }

    /// The messages to send, in order.
    var messages: [OutgoingMessage] {
        var messages: [OutgoingMessage] = []
        var rest = items[...]
        if isRetry {
            // The retry has the form of the first try, whatever the subscription says now.
            let through = batchThrough
            let tried = rest.prefix { item in
                through.map { item.event.sequence <= $0 } ?? false
            }
            // Of more events that are asked for since then, it holds no more than any batch.
            let count = Self.batchCount(tried)
            if let outgoing = OutgoingMessage(
                batch: tried.prefix(count).map(\.event),
                of: subscription
            ) {
                messages.append(outgoing)
                rest = rest.dropFirst(count)
            } else if through == nil, let item = rest.popFirst() {
                messages.append(OutgoingMessage(item.event))
            }
        }
        while let item = rest.first {
            let count = form == .single ? 0 : Self.batchCount(rest)
            if let outgoing = OutgoingMessage(
                batch: rest.prefix(count).map(\.event),
                of: subscription
            ) {
                messages.append(outgoing)
            } else {
                messages.append(OutgoingMessage(item.event))
            }
            rest = rest.dropFirst(max(count, 1))
        }
        return messages
    }

    /// Returns the number of next events that go together; 0 when the first is to be alone.
    private static func batchCount(_ items: ArraySlice<Item>) -> Int {
        var bytes = 0
        var count = 0
        for item in items.prefix(MessageBatch.eventsMax) {
            // Its answer says that the whole session is done, which can only be said of it alone.
            guard item.event.kind != .sessionEventsFinished else { break }
            bytes += item.bytes
            guard count == 0 || bytes <= MessageBatch.bytesMax else { break }
            count += 1
        }
        return count
    }
}
