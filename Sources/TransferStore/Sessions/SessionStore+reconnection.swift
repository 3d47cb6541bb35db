import Foundation
import Postgres
package import TransferModel

extension SessionStore {
    /// The number of pages, of `reconnectionLookMax` tasks each, searched for one with a task that
    /// nobody holds.
    private static let reconnectionPagesMax = 10
    private static let reconnectionLookMax = 5000

    /// Takes over tasks of a session, ended or not, that nobody holds.
    ///
    /// Of concurrent calls, each task goes to exactly one: several may choose it, but the primary
    /// key of its owner gives it to one. A lease that has ended does not count. The call continues
    /// `after` the place where an earlier call ended. It takes fewer tasks than `limit` when their
    /// client strings reach ``PageSize/reconnectionBytesMax`` together. The end of `client` gives
    /// its leases back.
    package func reconnect(
        _ session: SessionID,
        by client: ClientID = .default,
        owner: String?,
        time: LeaseTime,
        after: TaskID?,
        limit: Int
    ) async throws(StoreError) -> Reconnection {
        let lease = LeaseToken(UUID())
        var place = after
        var pages = 0
        while true {
            let part = try await take(
                session,
                lease,
                client,
                owner,
                time,
                after: place,
                limit: limit
            )
            pages += 1
            let isLast = part.next == nil || pages == Self.reconnectionPagesMax
            if !part.items.isEmpty || isLast { return part }
            place = part.next
        }
    }

    private func take(
        _ session: SessionID,
        _ lease: LeaseToken,
        _ client: ClientID,
        _ owner: String?,
        _ time: LeaseTime,
        after: TaskID?,
        limit: Int
    ) async throws(StoreError) -> Reconnection {
        let rows = try await database.run([
            """
            WITH look AS MATERIALIZED (\(TaskListStore.selectTasks(
                of: session,
                after: after?.uuid ?? UUID.zero,
                limit: Self.reconnectionLookMax
            ))),
            -- In the order of the look, of which no more is read than it takes.
            free AS MATERIALIZED (
                SELECT l.id FROM look l
                WHERE (
                    SELECT coalesce(w.expires_at > clock_timestamp(), true) FROM task_owner w
                    WHERE w.task_id = l.id) IS NOT TRUE
                LIMIT \(limit)
            ),
            -- None is removed from here on, without the owner that it is given.
            found AS MATERIALIZED (
                SELECT f.id, t.client_string FROM free f
                CROSS JOIN LATERAL (
                    SELECT x.client_string FROM task x WHERE x.id = f.id LIMIT 1 FOR KEY SHARE) t
            ),
            candidate AS MATERIALIZED (
                \(PageSize.cut("SELECT * FROM found", orderedBy: "id", at: PageSize.reconnectionBytesMax))
            ),
            owner AS MATERIALIZED (
                SELECT c.tenant_id, c.id FROM session s JOIN client c
                    ON c.tenant_id = s.tenant_id AND c.identifier = \(client.name)
                WHERE s.id = \(session.uuid)
            ),
            taken AS (
                INSERT INTO task_owner (
                    task_id, tenant_id, lease_token, owner, expires_at, client_id)
                SELECT c.id, (SELECT tenant_id FROM owner), \(lease.uuid), \(owner),
                    \(Self.expiry(time)), (SELECT id FROM owner)
                FROM candidate c ORDER BY c.id
                ON CONFLICT (task_id) DO UPDATE SET
                    lease_token = excluded.lease_token, owner = excluded.owner,
                    expires_at = excluded.expires_at, client_id = excluded.client_id
                WHERE task_owner.expires_at <= clock_timestamp()
            )
            -- Where to go on: behind a full page, or behind all that was looked at.
            SELECT CASE
                WHEN c.count < f.count THEN (SELECT id FROM candidate ORDER BY id DESC LIMIT 1)
                WHEN x.count = \(limit) THEN (SELECT id FROM free ORDER BY id DESC LIMIT 1)
                ELSE \(TaskListStore.selectEnd(ofLook: Self.reconnectionLookMax)) END AS next
            FROM (SELECT count(*) FROM free) x, (SELECT count(*) FROM found) f,
                (SELECT count(*) FROM candidate) c
            """,
            """
            -- Apart, or a plan might walk through all owners in this order.
            WITH mine AS MATERIALIZED (
                SELECT task_id, expires_at FROM task_owner WHERE lease_token = \(lease.uuid)
            )
            SELECT r.*, w.expires_at
            FROM mine w
            CROSS JOIN LATERAL (\(TaskStore.selectTask) WHERE t.id = w.task_id LIMIT 1) r
            ORDER BY w.task_id
            """,
            // The client is present: it is told about every task that begins to wait for it from
            // now on.
            """
            UPDATE session_progress SET is_pending_told = false
            WHERE session_id = \(session.uuid) AND is_pending_told
            """,
        ])
        let next = try rows[0].first?.decodeIfPresent("next", as: UUID.self)
        return Reconnection(
            lease: lease,
            expiresAt: try rows[1].first?.decodeIfPresent("expires_at"),
            items: try rows[1].map { row throws(StoreError) in
                // One task that cannot be decoded is no reason to withhold the others.
                Reconnection.Item(
                    id: try row.task("id"),
                    task: try? TransferTask(row, keptFor: database.settings.resultRetention)
                )
            },
            next: next.map { TaskID($0) }
        )
    }

    private static func expiry(_ time: LeaseTime) -> Query {
        switch time {
        case .seconds(let seconds): "clock_timestamp() + \(seconds) * interval '1 s'"
        case .forGood: "NULL::timestamptz"
        }
    }

    /// Returns how many tasks a lease holds, up to ``SubmissionLease/tasksMax``.
    package func leasedTasks(
        tenant: TenantID,
        _ lease: LeaseToken
    ) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            SELECT count(*) AS tasks FROM (
                SELECT FROM task_owner
                WHERE lease_token = \(lease.uuid) AND tenant_id = \(tenant.uuid)
                LIMIT \(SubmissionLease.tasksMax)) x
            """
        )
        return Int(try rows.first?.decode("tasks", as: Int64.self) ?? 0)
    }

    /// Extends or shortens the lease on the tasks that a reconnection has taken, or a submission
    /// has kept.
    ///
    /// After its end it holds those that nobody has taken over meanwhile, because whoever does
    /// replaces its token. Of a renewal and a reconnection beside it, the one that locks an owner
    /// first gets the task.
    ///
    /// - Returns: nil when it no longer holds any task.
    package func renewLease(
        tenant: TenantID,
        _ lease: LeaseToken,
        for time: LeaseTime
    ) async throws(StoreError) -> RenewedLease? {
        let rows = try await database.run(
            """
            UPDATE task_owner SET expires_at = \(Self.expiry(time))
            WHERE task_id = ANY (ARRAY(\(Self.lockOwners(
                of: Self.selectTasks(of: lease, tenant),
                where: "o.lease_token = \(lease.uuid)"
            ))))
            RETURNING expires_at
            """
        )
        guard let row = rows.first else { return nil }
        return RenewedLease(
            tasks: rows.count,
            expiresAt: try row.decodeIfPresent("expires_at")
        )
    }

    /// Releases the tasks of a lease.
    ///
    /// - Returns: false when it no longer holds any task.
    package func releaseLease(
        tenant: TenantID,
        _ lease: LeaseToken
    ) async throws(StoreError) -> Bool {
        try await database.run(
            Self.removeOwners(
                of: Self.selectTasks(of: lease, tenant),
                where: "o.lease_token = \(lease.uuid)"
            )
        ).affectedCount > 0
    }

    private static func selectTasks(of lease: LeaseToken, _ tenant: TenantID) -> Query {
        """
        SELECT x.task_id FROM task_owner x
        WHERE x.lease_token = \(lease.uuid) AND x.tenant_id = \(tenant.uuid)
        """
    }

    /// Returns the statement that removes the owners of the tasks which
    /// ``lockOwners(of:where:)`` selects.
    static func removeOwners(of tasks: Query, where condition: Query = "true") -> Query {
        """
        DELETE FROM task_owner
        WHERE task_id = ANY (ARRAY(\(lockOwners(of: tasks, where: condition))))
        """
    }

    /// Returns the query that locks the owners `o` of the rows `p` of `tasks`, which have a
    /// `task_id`, and selects the tasks of those that then meet `condition`.
    ///
    /// Every statement locks them in the order of their tasks, as a reconnection takes them: two
    /// that want the same rows never wait for each other. Each index has an order of its own.
    private static func lockOwners(of tasks: Query, where condition: Query) -> Query {
        """
        -- Sorted first and locked one by one, or a plan might walk through all owners in order.
        WITH look AS MATERIALIZED (\(tasks))
        SELECT o.task_id
        FROM (SELECT * FROM look ORDER BY task_id) p CROSS JOIN LATERAL (
            SELECT x.* FROM task_owner x WHERE x.task_id = p.task_id LIMIT 1 FOR UPDATE
        ) o
        WHERE \(condition)
        """
    }
}
