import Foundation
import Postgres
package import TransferModel

/// A client that was force-quit, until the last of its tasks has been cancelled.
private struct PendingForceQuit {
    let tenant: TenantID
    let client: ClientID
}

extension TransferStore {
    /// Clients, and sessions of one, that are looked after at once.
    private static let forceQuitsMax = 100
    /// Tasks cancelled by one statement.
    private static let forceQuitTasksMax = 1000
    /// Tries for tasks that are met on their way between two tables.
    private static let forceQuitTriesMax = 20

    /// Ends a client as a person does who swipes it away: what is outstanding in its sessions is
    /// cancelled, they take nothing new, and nothing is delivered of them until its launch.
    ///
    /// From the first commit on all that is decided, under the row locks of the sessions' counters;
    /// the tasks are then cancelled in batches, by another instance should this one die.
    ///
    /// - Returns: the client as it then is, or nil when the tenant has none of that name.
    package func forceQuit(tenant: TenantID, id: ClientID) async throws(StoreError) -> Client? {
        let rows = try await run([
            """
            WITH quit AS (
                UPDATE client c SET lifecycle = 'force_quit', lifecycle_changed_at = CASE
                    c.lifecycle WHEN 'force_quit' THEN c.lifecycle_changed_at ELSE now() END
                WHERE c.tenant_id = \(tenant.uuid) AND c.identifier = \(id.name)
                RETURNING \(Self.clientColumns), c.tenant_id
            ),
            pending AS (
                INSERT INTO force_quit (tenant_id, client) SELECT tenant_id, identifier FROM quit
                ON CONFLICT (tenant_id, client) DO NOTHING
            )
            SELECT * FROM quit
            """,
            """
            WITH \(Self.lockSessions(of: id, tenant, where: "NOT p.is_force_quit"))
            UPDATE session_progress p SET is_force_quit = true
            FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
            """,
            // Whoever is delivering finds its claim gone; what is to be told waits for the launch.
            """
            UPDATE delivery d SET
                worker = NULL, fence = NULL,
                due_at = clock_timestamp() + \(Self.awayPause.milliseconds) * interval '1 ms'
            FROM session s CROSS JOIN LATERAL (\(Self.selectSubscriptions("b.id"))) b
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(id.name)
                AND d.subscription_id = ANY (ARRAY[b.id]) AND d.session_id = ANY (ARRAY[s.id])
                AND d.due_at IS NOT NULL
            """,
        ])
        guard let client = try first(rows[0]) else { return nil }
        try await cancelAll(of: PendingForceQuit(tenant: tenant, client: id))
        return client
    }

    /// Notes that a client is there again.
    ///
    /// After a force-quit its sessions take tasks, and what waited to be told of them is due. One that
    /// was not running is told which of its tasks wait for it.
    ///
    /// - Returns: the client as it then is, or nil when the tenant has none of that name.
    package func launch(tenant: TenantID, id: ClientID) async throws(StoreError) -> Client? {
        for _ in 0..<Self.forceQuitTriesMax {
            guard let before = try await client(tenant: tenant, id: id) else { return nil }
            // What was outstanding when it was force-quit does not come back with it.
            if before.lifecycle == .forceQuit {
                try await cancelAll(of: PendingForceQuit(tenant: tenant, client: id))
            }
            if let launched = try await launch(before, tenant) { return launched }
        }
        throw .unavailable(PostgresError(decoding: "a client's lifecycle changes all the time"))
    }

    /// - Returns: nil when the client is no longer as it was before.
    private func launch(_ before: Client, _ tenant: TenantID) async throws(StoreError) -> Client? {
        let id = before.id
        let rows = try await run([
            """
            WITH launched AS (
                UPDATE client c SET lifecycle = 'active', lifecycle_changed_at = CASE
                    c.lifecycle WHEN 'active' THEN c.lifecycle_changed_at ELSE now() END
                WHERE c.tenant_id = \(tenant.uuid) AND c.identifier = \(id.name)
                    AND c.lifecycle = \(before.lifecycle.rawValue)
                RETURNING \(Self.clientColumns), c.tenant_id
            ),
            pending AS (
                DELETE FROM force_quit f USING launched l
                WHERE f.tenant_id = l.tenant_id AND f.client = l.identifier
            )
            SELECT * FROM launched
            """,
            """
            WITH \(Self.lockSessions(of: id, tenant, where: "p.is_force_quit AND \(Self.isActive)"))
            UPDATE session_progress p SET is_force_quit = false
            FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
            """,
            before.lifecycle.isRunning ? "SELECT 1" : Self.tellPending(of: id, tenant),
            // What waits for another reason keeps to its schedule, however often a client launches.
            before.lifecycle == .forceQuit ? Self.makeDue(of: id, tenant) : "SELECT 1",
        ])
        guard let client = try first(rows[0]) else { return nil }
        // Once more on its own, so that it waits for a claim that has seen the client as it was and
        // undoes what that has set to wait.
        if before.lifecycle == .forceQuit { _ = try await run(Self.makeDue(of: id, tenant)) }
        return client
    }

    /// Makes due what waits of a client's sessions; also what is due, for a claim may be setting it
    /// to wait just now.
    ///
    /// An end that was not acknowledged is told again, for whoever worked on it is gone.
    private static func makeDue(of client: ClientID, _ tenant: TenantID) -> Query {
        """
        UPDATE delivery d SET due_at = clock_timestamp()
        FROM session s CROSS JOIN LATERAL (\(selectSubscriptions("b.id"))) b
        WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name) AND \(isActive)
            AND d.subscription_id = ANY (ARRAY[b.id]) AND d.session_id = ANY (ARRAY[s.id])
            AND d.due_at IS NOT NULL AND d.fence IS NULL
        """
    }

    /// Whether the client of a session `s` is active, as the transaction has made it, or not.
    private static let isActive: Query = """
        EXISTS (
            SELECT 1 FROM client c WHERE c.tenant_id = s.tenant_id AND c.identifier = s.client
                AND c.lifecycle = 'active')
        """

    /// Locks the counters of a client's sessions in the order that everybody keeps; offers `locked`.
    private static func lockSessions(
        of client: ClientID,
        _ tenant: TenantID,
        where condition: Query
    ) -> Query {
        """
        locked AS MATERIALIZED (
            SELECT p.session_id
            FROM session s JOIN session_progress p ON p.session_id = ANY (ARRAY[s.id])
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name) AND \(condition)
            ORDER BY s.id FOR UPDATE OF p
        )
        """
    }

    /// Goes on with force-quits that were begun, by whichever instance.
    package func continueForceQuits() async throws(StoreError) {
        let rows = try await run(
            """
            SELECT tenant_id, client FROM force_quit
            ORDER BY tenant_id, client LIMIT \(Self.forceQuitsMax)
            """
        )
        let pending = try decoding { () throws(PostgresError) in
            try rows.map { row throws(PostgresError) in
                PendingForceQuit(
                    tenant: try row.tenant("tenant_id"),
                    client: try row.client("client")
                )
            }
        }
        for one in pending { try await cancelAll(of: one) }
    }

    /// Cancels what is outstanding of a client that was force-quit.
    ///
    /// What is being published is left for the next call; when nothing is left, the force-quit is
    /// forgotten.
    private func cancelAll(of pending: PendingForceQuit) async throws(StoreError) {
        var after: SessionID?
        while true {
            let rows = try await run(
                """
                SELECT s.id
                FROM session s JOIN session_progress p ON p.session_id = ANY (ARRAY[s.id])
                WHERE s.tenant_id = \(pending.tenant.uuid) AND s.client = \(pending.client.name)
                    AND p.outstanding > 0 AND p.is_force_quit
                    AND (\(after?.uuid)::uuid IS NULL OR s.id > \(after?.uuid))
                ORDER BY s.id LIMIT \(Self.forceQuitsMax)
                """
            )
            let sessions = try decoding { () throws(PostgresError) in
                try rows.map { row throws(PostgresError) in try row.session("id") }
            }
            for session in sessions { try await cancelAll(ofForceQuit: session) }
            guard sessions.count == Self.forceQuitsMax else { break }
            after = sessions.last
        }
        _ = try await run(
            """
            DELETE FROM force_quit f
            WHERE f.tenant_id = \(pending.tenant.uuid) AND f.client = \(pending.client.name)
                AND NOT EXISTS (
                    SELECT 1
                    FROM session s JOIN session_progress p ON p.session_id = ANY (ARRAY[s.id])
                    WHERE s.tenant_id = f.tenant_id AND s.client = f.client AND p.is_force_quit
                        AND p.outstanding > 0)
            """
        )
    }

    /// Cancels what is outstanding of one session, as long as it is marked: what is submitted after
    /// a launch is in no danger.
    private func cancelAll(ofForceQuit session: SessionID) async throws(StoreError) {
        let cause = try StoredJSON.text(
            of: TransferFailure(.userForceQuit, "Its client was force-quit.")
        )
        for _ in 0..<Self.forceQuitTriesMax {
            var after = UUID.zero
            while let last = try await lastTask(ofPageAfter: after, in: session) {
                _ = try await run(
                    """
                    WITH target AS (
                        SELECT t.id, t.tenant_id, t.session_id, t.generation, t.lane,
                            t.priority_rank
                        FROM session_progress p JOIN task t ON t.session_id = p.session_id
                        WHERE p.session_id = \(session.uuid) AND p.is_force_quit
                            AND t.id > \(after) AND t.id <= \(last)
                            AND NOT EXISTS (
                                SELECT 1 FROM outcome o WHERE o.task_id = ANY (ARRAY[t.id]))
                    ),
                    \(Self.cancelTargets(producing: nil, because: cause))
                    """
                )
                after = last
            }
            let rows = try await run(
                """
                SELECT 1 FROM session_progress p
                WHERE p.session_id = \(session.uuid) AND p.is_force_quit AND p.outstanding > (
                    SELECT count(*) FROM publication b WHERE b.session_id = p.session_id)
                """
            )
            if rows.isEmpty { return }
        }
    }

    private func lastTask(
        ofPageAfter after: UUID,
        in session: SessionID
    ) async throws(StoreError) -> UUID? {
        let rows = try await run(
            """
            SELECT id FROM (\(Self.selectTasks(
                of: session,
                after: after,
                limit: Self.forceQuitTasksMax
            ))) page
            ORDER BY id DESC LIMIT 1
            """
        )
        return try decoding { () throws(PostgresError) in try rows.first?.decode("id") }
    }
}
