import Postgres
package import TransferModel

/// The feed of a tenant: the events of all its sessions and clients, and its own, in one order.
///
/// Each event has one position, and positions have no gaps. They are those of the order in which
/// events were added to the feed, which is after their commit: what has a position is followed by
/// nothing with an older one. A session's events keep their order.
extension EventStore {
    /// The number of moves of tasks that one call goes through, for all tenants together.
    static let feedNewsMax = 10_000

    /// Adds to the feeds of tenants what has been committed before the call.
    ///
    /// ``CountStore/foldMoves()`` does the same for all tenants, a second later.
    ///
    /// - Returns: the newest positions; tenants without any are absent.
    package func extendFeeds(
        of tenants: [TenantID]
    ) async throws(StoreError) -> [TenantID: Int64] {
        let ids = tenants.map(\.uuid)
        let rows = try await database.run(
            """
            WITH news AS MATERIALIZED (
                SELECT DISTINCT m.tenant_id, m.session_id
                FROM (
                    SELECT tenant_id, session_id FROM task_move WHERE tenant_id = ANY (\(ids))
                    LIMIT \(Self.feedNewsMax)
                ) m
            ),
            \(Feed.addNews)
            SELECT coalesce(e.tenant_id, f.tenant_id) AS tenant_id,
                coalesce(e.last_position, f.last_position) AS last_position
            FROM feed_end e
            FULL JOIN (
                SELECT tenant_id, last_position FROM feed_tenant WHERE tenant_id = ANY (\(ids))
            ) f USING (tenant_id)
            """
        )
        var positions: [TenantID: Int64] = [:]
        for row in rows {
            positions[try row.tenant("tenant_id")] = try row.decode("last_position")
        }
        return positions
    }

    /// Returns the oldest position kept in the feed of a tenant, or the next one if none is.
    package func oldestPosition(ofFeed tenant: TenantID) async throws(StoreError) -> Int64 {
        let rows = try await database.run(
            """
            SELECT coalesce(
                (SELECT x.first_position FROM event_feed x WHERE x.tenant_id = \(tenant.uuid)
                ORDER BY x.last_position LIMIT 1),
                (SELECT f.last_position + 1 FROM feed_tenant f WHERE f.tenant_id = \(tenant.uuid)),
                1) AS oldest
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no bounds") }
        return try row.decode("oldest")
    }

    /// Returns the events at the `limit` positions behind `position` in the feed of a tenant.
    ///
    /// The page ends earlier if the client strings of its events reach `bytesMax`. Positions whose
    /// events are gone, with an ephemeral session or in the last week of their retention, are
    /// passed over.
    package func feed(
        of tenant: TenantID,
        after position: Int64,
        limit: Int,
        bytesMax: Int = PageSize.pageBytesMax
    ) async throws(StoreError) -> FeedPage {
        let rows = try await database.run([
            Self.selectFeedSpan(of: tenant, after: position, limit: limit),
            PageSize.cut(
                Self.selectEvents(
                    Feed.selectEvents(
                        of: "\(tenant.uuid)",
                        after: "\(position)",
                        limit: "\(Int64(limit))"
                    ),
                    with: "e.position,",
                    orderedBy: "position"
                ),
                orderedBy: "position",
                at: bytesMax
            ),
        ])
        guard let span = rows[0].first else { throw StoreError(decoding: "no span of a feed") }
        let newest = try span.decodeIfPresent("newest", as: Int64.self) ?? 0
        let first = try span.decodeIfPresent("first", as: Int64.self) ?? newest + 1
        let last = try span.decodeIfPresent("last", as: Int64.self) ?? position
        guard first <= position + 1 else {
            return FeedPage(events: [], unreadable: [], through: nil, oldest: first, newest: newest)
        }
        var events: [PositionedEvent] = []
        var unreadable: [EventPlace] = []
        for row in rows[1] {
            let position = try row.decode("position", as: Int64.self)
            // The second statement may see more than the first.
            guard position <= last else { break }
            do throws(StoreError) {
                events.append(PositionedEvent(position: position, event: try SessionEvent(row)))
            } catch {
                unreadable.append(try EventPlace(row, position: position))
            }
        }
        let isCut = try PageSize.bytes(of: rows[1]) >= bytesMax
        let end = max(events.last?.position ?? position, unreadable.last?.position ?? position)
        return FeedPage(
            events: events,
            unreadable: unreadable,
            through: isCut ? end : min(last, position + Int64(limit)),
            oldest: first,
            newest: newest
        )
    }

    /// Returns the query for the positions `first` to `last` without a gap that a page has at
    /// least, and for the `newest` one.
    private static func selectFeedSpan(
        of tenant: TenantID,
        after position: Int64,
        limit: Int
    ) -> Query {
        """
        SELECT min(y.first_position) AS first,
            max(y.last_position) FILTER (WHERE NOT y.is_behind_gap) AS last,
            (SELECT f.last_position FROM feed_tenant f WHERE f.tenant_id = \(tenant.uuid)) AS newest
        FROM (
            SELECT x.first_position, x.last_position, bool_or(x.is_gap) OVER (
                ORDER BY x.last_position) AS is_behind_gap
            FROM (
                SELECT f.first_position, f.last_position, f.first_position <> 1 + lag(
                    f.last_position, 1, f.first_position - 1) OVER (ORDER BY f.last_position)
                    AS is_gap
                FROM (\(Feed.selectRows(
                    of: "\(tenant.uuid)",
                    after: "\(position)",
                    limit: "\(Int64(limit))"
                ))) f
            ) x
        ) y
        """
    }
}
