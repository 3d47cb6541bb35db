import TransferModel
import TransferStore
import TransferWire

/// A log of events that is read in pages: that of a session, of a client, or the feed of a tenant.
struct EventLog: Sendable {
    let source: Source
    let stores: APIStores

    /// The events of a log.
    enum Source: Hashable, Sendable {
        /// Those of a session, or of a client outside its sessions.
        case log(SessionID)
        /// Those of all sessions and clients of a tenant, and its own.
        case feed(TenantID)

        /// The identifier of the log in a cursor.
        var id: SessionID {
            switch self {
            case .log(let id): id
            case .feed(let tenant): SessionID(tenant.uuid)
            }
        }
    }

    /// Events with their positions, which are those of cursors.
    struct Page: Sendable {
        let events: [PositionedEvent]
        /// The events that cannot be read.
        let unreadable: [EventPlace]
        /// The position behind which the next page begins.
        let through: Int64
        /// Whether there may be more events now.
        let mayHaveMore: Bool
    }

    /// Returns the position at which a reader begins.
    ///
    /// What was committed before is found by the pages that follow.
    ///
    /// - Parameter cursor: the position that the reader names; nil begins with the oldest event
    ///   kept.
    /// - Returns: the position after which it begins.
    /// - Throws: ``Problem`` when the cursor is in another log, such as that of an earlier session
    ///   of this name.
    func begin(at cursor: EventCursor?) async throws -> Int64 {
        if case .feed(let tenant) = source {
            _ = try await stores.events.extendFeeds(of: [tenant])
        }
        guard let cursor else { return try await oldest() - 1 }
        guard cursor.log == source.id else {
            throw Problem(eventsOfAnotherLogBefore: try await oldest())
        }
        return cursor.sequence
    }

    /// Whether no event can follow a position.
    func isOver(after position: Int64) async throws -> Bool {
        guard case .log(let id) = source,
            let end = try await stores.events.eventPositions(of: [id])[id]
        else { return false }
        return end.isFinal && end.lastSequence <= position
    }

    private func oldest() async throws -> Int64 {
        switch source {
        case .log(let id): try await stores.events.eventBounds(of: id).oldest
        case .feed(let tenant): try await stores.events.oldestPosition(ofFeed: tenant)
        }
    }

    /// Returns the next events, without a gap before or between them but where one cannot be read.
    ///
    /// - Throws: ``Problem`` when what comes next is no longer kept, or the log has never been so
    ///   long.
    func page(
        after cursor: Int64,
        limit: Int,
        bytesMax: Int = PageSize.pageBytesMax
    ) async throws -> Page {
        switch source {
        case .log(let id):
            try await page(of: id, after: cursor, limit: limit, bytesMax: bytesMax)
        case .feed(let tenant):
            try await page(ofFeed: tenant, after: cursor, limit: limit, bytesMax: bytesMax)
        }
    }

    private func page(
        of id: SessionID,
        after cursor: Int64,
        limit: Int,
        bytesMax: Int
    ) async throws -> Page {
        let events = try await stores.events.events(
            of: id,
            after: cursor,
            limit: limit,
            bytesMax: bytesMax
        )
        // When a clock was set, a later event may have been stored in the older partition.
        let next = events.unbroken(after: cursor)
        guard let last = next.lastSequence else {
            if let first = events.firstSequence { throw Problem(eventsExpiredBefore: first) }
            let (oldest, newest) = try await stores.events.eventBounds(of: id)
            guard oldest - 1 <= cursor else { throw Problem(eventsExpiredBefore: oldest) }
            // A log that has had no event, as that of a new client, ends before the first.
            let end = newest ?? 0
            guard cursor <= end else { throw Problem(eventsEndAt: end, oldest: oldest) }
            return Page(events: [], unreadable: [], through: cursor, mayHaveMore: false)
        }
        return Page(
            events: next.map { PositionedEvent(position: $0.sequence, event: $0) },
            unreadable: next.unreadable,
            through: last,
            mayHaveMore: events.hasMore
        )
    }

    private func page(
        ofFeed tenant: TenantID,
        after cursor: Int64,
        limit: Int,
        bytesMax: Int
    ) async throws -> Page {
        let page = try await stores.events.feed(
            of: tenant,
            after: cursor,
            limit: limit,
            bytesMax: bytesMax
        )
        guard page.newest >= cursor else {
            let oldest = try await stores.events.oldestPosition(ofFeed: tenant)
            throw Problem(eventsEndAt: page.newest, oldest: oldest)
        }
        guard let through = page.through else { throw Problem(eventsExpiredBefore: page.oldest) }
        return Page(
            events: page.events,
            unreadable: page.unreadable,
            through: through,
            mayHaveMore: page.newest > through
        )
    }
}
