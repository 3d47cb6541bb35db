import TransferModel
import TransferStore
import TransferWire

/// The events of a session, or those of a tenant that belong to none.
struct EventLog: Sendable {
    let id: SessionID
    let stores: APIStores

    /// Where a reader begins.
    ///
    /// - Parameter cursor: where it says it is; nil begins with the oldest that is kept.
    /// - Returns: the sequence behind which it begins.
    /// - Throws: ``Problem`` when it is in another log, such as that of an earlier session of this
    ///   name.
    func begin(at cursor: EventCursor?) async throws -> Int64 {
        guard let cursor else { return try await stores.events.eventBounds(of: id).oldest - 1 }
        guard cursor.log == id else {
            throw Problem(
                eventsOfAnotherLogBefore: try await stores.events.eventBounds(of: id).oldest
            )
        }
        return cursor.sequence
    }

    /// The next events, without a gap before or between them.
    ///
    /// - Throws: ``Problem`` when what comes next is not kept any more, or the log has never been so
    ///   long.
    func page(
        after cursor: Int64,
        limit: Int,
        bytesMax: Int = PageSize.pageBytesMax
    ) async throws -> [SessionEvent] {
        let events = try await stores.events.events(
            of: id,
            after: cursor,
            limit: limit,
            bytesMax: bytesMax
        )
        // Clocks that were set may have put a younger event into the older partition.
        let next = events.enumerated()
            .prefix { $0.element.sequence - Int64($0.offset) - 1 == cursor }
            .map(\.element)
        guard next.isEmpty else { return next }
        if let first = events.first { throw Problem(eventsExpiredBefore: first.sequence) }
        let (oldest, newest) = try await stores.events.eventBounds(of: id)
        guard oldest - 1 <= cursor else { throw Problem(eventsExpiredBefore: oldest) }
        if let newest, newest < cursor { throw Problem(eventsEndAt: newest, oldest: oldest) }
        return []
    }
}
