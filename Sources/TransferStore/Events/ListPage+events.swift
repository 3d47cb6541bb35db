package import TransferModel

/// Pages of the events of a log.
extension ListPage<SessionEvent, EventPlace> {
    /// The sequence of the first event, whether it can be read or not; nil if the page has none.
    package var firstSequence: Int64? { bound(items.first, unreadable.first, Swift.min) }

    /// The sequence of the last event, whether it can be read or not; nil if the page has none.
    package var lastSequence: Int64? { bound(items.last, unreadable.last, Swift.max) }

    /// The number of events, whether they can be read or not.
    package var eventCount: Int { items.count + unreadable.count }

    private func bound(
        _ event: SessionEvent?,
        _ place: EventPlace?,
        _ choose: (Int64, Int64) -> Int64
    ) -> Int64? {
        guard let event, let place else { return event?.sequence ?? place?.sequence }
        return choose(event.sequence, place.sequence)
    }

    /// Returns the events that follow `position` without a gap; a gap is where events are no longer
    /// kept.
    package func unbroken(after position: Int64) -> Self {
        let sequences = (items.map(\.sequence) + unreadable.map(\.sequence)).sorted()
        let end = zip(sequences, (position + 1)...).prefix { $0 == $1 }.last?.0 ?? position
        return through(end)
    }

    /// The events before the first that cannot be read.
    package var readablePrefix: [SessionEvent] {
        unreadable.first.map { through($0.sequence - 1).items } ?? items
    }

    /// Returns the events up to `sequence`.
    package func through(_ sequence: Int64) -> Self {
        guard let last = lastSequence, last > sequence else { return self }
        return Self(
            items: items.filter { $0.sequence <= sequence },
            unreadable: unreadable.filter { $0.sequence <= sequence },
            lastPlace: nil,
            hasMore: true
        )
    }
}
