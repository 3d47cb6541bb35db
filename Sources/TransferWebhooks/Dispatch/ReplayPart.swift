import TransferModel

/// The next events of a message that is sent again, as many as fit into one message.
///
/// A message is of several parts only when its subscription asks for more events than when it was
/// first sent.
struct ReplayPart: Sendable {
    private let claim: ReplayClaim
    private var bytes = 0
    /// The events that are sent.
    private(set) var events: [SessionEvent] = []
    /// The last event examined.
    private(set) var position: Int64
    /// Whether any event was there, asked for or not.
    private(set) var hasFound = false
    /// Whether an event cannot be read.
    private(set) var isUnreadable = false
    private var isFull = false

    /// Creates an empty part of the events after `position`.
    init(of claim: ReplayClaim, after position: Int64) {
        self.claim = claim
        self.position = position
    }

    /// Whether no more events are to be read before it is sent.
    var isComplete: Bool { isFull || isUnreadable || position >= claim.sequence }

    /// The number of events to read next, where a page may have `most`.
    func pageLimit(_ most: Int) -> Int { min(most, Int(claim.sequence - position)) }

    /// Adds a page of the events that follow, as far as they fit; `size` is that of one in JSON.
    mutating func add(_ page: [SessionEvent], size: (SessionEvent) -> Int) {
        hasFound = hasFound || !page.isEmpty
        for event in page {
            if claim.wants(event) {
                let size = claim.batchFirst == nil ? 0 : size(event)
                let isWithin =
                    events.count < MessageBatch.eventsMax && bytes + size <= MessageBatch.bytesMax
                guard events.isEmpty || isWithin else {
                    isFull = true
                    return
                }
                bytes += size
                events.append(event)
            }
            position = event.sequence
        }
    }

    /// Records that no further event is there.
    mutating func end() { position = claim.sequence }

    /// Records that the next event cannot be read.
    mutating func meetUnreadable() { isUnreadable = true }

    /// The message; nil without events.
    var outgoing: OutgoingMessage? {
        guard claim.batchFirst == nil else {
            return OutgoingMessage(batch: events, of: claim.subscription)
        }
        return events.first.map { OutgoingMessage($0) }
    }
}

extension ReplayClaim {
    /// Whether a batch holds `event`; a message of one event is sent again whatever is asked for
    /// now.
    fileprivate func wants(_ event: SessionEvent) -> Bool {
        guard batchFirst != nil else { return true }
        let kind = event.kind
        return kind != .sessionEventsFinished
            && event.isInScope(of: subscription, isScoped: isScoped)
            && (filter?.contains(kind) ?? kind.isSentUnasked)
    }
}
