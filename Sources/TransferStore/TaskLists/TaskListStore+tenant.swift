import Foundation
import Postgres
package import TransferModel

/// The tasks of all living sessions of a tenant.
extension TaskListStore {
    /// The maximum number of sessions that one page looks into.
    package static let sessionsPerPageMax = 50

    /// Returns a page of those of a tenant's tasks that `filter` names: by session in the order of
    /// their creation or, if the newest come first, in the reverse order, and in a session
    /// likewise.
    ///
    /// Sessions without a task in any of the named states are passed over. A page looks into at
    /// most ``sessionsPerPageMax`` of the others, and may hold fewer than `limit` tasks, or none,
    /// although more follow.
    package func tasks(
        tenant: TenantID,
        filter: TaskFilter,
        after place: TenantTaskPage.Place?,
        limit: Int
    ) async throws(StoreError) -> TenantTaskPage {
        let sessions = try await sessions(of: tenant, filter, from: place?.session)
        var tasks: [TransferTask] = []
        var unreadable: [TaskID] = []
        var clientStringBytes = 0
        func page(_ next: TenantTaskPage.Place?) -> TenantTaskPage {
            TenantTaskPage(tasks: tasks, unreadable: unreadable, next: next)
        }
        for session in sessions.prefix(Self.sessionsPerPageMax) {
            let room = limit - tasks.count - unreadable.count
            guard room > 0, clientStringBytes < PageSize.pageBytesMax else {
                return page(.init(session: session, task: nil))
            }
            let own = try await self.tasks(
                of: session,
                filter: filter,
                after: session == place?.session ? place?.task : nil,
                limit: room
            )
            tasks += own.tasks
            unreadable += own.unreadable
            clientStringBytes += own.clientStringBytes
            if let next = own.next { return page(.init(session: session, task: next)) }
        }
        return page(
            sessions.dropFirst(Self.sessionsPerPageMax).first.map {
                .init(session: $0, task: nil)
            }
        )
    }

    /// Returns the sessions to look into, beginning with `first`, and one more if there is one.
    ///
    /// Counts of a state may be negative for a moment, because a task's moves are counted one by
    /// one.
    private func sessions(
        of tenant: TenantID,
        _ filter: TaskFilter,
        from first: SessionID?
    ) async throws(StoreError) -> [SessionID] {
        let states = filter.states.map(\.rawValue)
        let hasSome: Query =
            states.isEmpty
            ? "true"
            : """
            EXISTS (
                SELECT 1 FROM (
                    SELECT c.state, sum(c.tasks) AS tasks
                    FROM (\(CountStore.selectCountsOfSession)) c GROUP BY c.state
                ) c
                WHERE c.tasks <> 0 AND c.state::text = ANY (\(states)))
            """
        let range: Query =
            filter.isNewestFirst
            ? "s.id <= \(first?.uuid ?? UUID.last)" : "s.id >= \(first?.uuid ?? UUID.zero)"
        let order: Query = filter.isNewestFirst ? "s.id DESC" : "s.id"
        let rows = try await database.run(
            """
            SELECT s.id FROM session s
            WHERE s.tenant_id = \(tenant.uuid) AND s.invalidated_at IS NULL AND \(range)
                AND \(hasSome)
            ORDER BY \(order) LIMIT \(Self.sessionsPerPageMax + 1)
            """
        )
        return try rows.map { row throws(StoreError) in try row.session("id") }
    }
}
