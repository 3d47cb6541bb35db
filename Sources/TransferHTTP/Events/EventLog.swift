import TransferModel
import TransferStore
import TransferWire

/// The events of a session, of a client, or of a tenant.
struct EventLog: Sendable {
    let id: SessionID
    let stores: APIStores

    /// Returns the position at which a reader begins.
    ///
    /// - Parameter cursor: the position that the reader names; nil begins with the oldest event
    ///   kept.
    /// - Returns: the sequence after which it begins.
    /// - Throws: ``Problem`` when the cursor is in another log, such as that of an earlier session
    ///   of this name.
    func begin(at cursor: EventCursor?) async throws -> Int64 {
        guard let cursor else { return try await stores.events.eventBounds(of: id).oldest - 1 }
        guard cursor.log == id else {
            throw Problem(
                eventsOfAnotherLogBefore: try await stores.events.eventBounds(of: id).oldest
            )
        }
        return cursor.sequence
    }

    /// Returns the next events, without a gap before or between them but where one cannot be read.
    ///
    /// - Throws: ``Problem`` when what comes next is no longer kept, or the log has never been so
    ///   long.
    func page(
        after cursor: Int64,
        limit: Int,
        bytesMax: Int = PageSize.pageBytesMax
    ) async throws -> ListPage<SessionEvent, EventPlace> {
        let events = try await stores.events.events(
            of: id,
            after: cursor,
            limit: limit,
            bytesMax: bytesMax
        )
        // When a clock was set, a later event may have been stored in the older partition.
        let next = events.unbroken(after: cursor)
        guard next.eventCount == 0 else { return next }
        if let first = events.firstSequence { throw Problem(eventsExpiredBefore: first) }
        let (oldest, newest) = try await stores.events.eventBounds(of: id)
        guard oldest - 1 <= cursor else { throw Problem(eventsExpiredBefore: oldest) }
        if let newest, newest < cursor { throw Problem(eventsEndAt: newest, oldest: oldest) }
        return next
    }
}
