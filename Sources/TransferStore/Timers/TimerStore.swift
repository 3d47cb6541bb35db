package import Foundation
import Postgres
import TransferModel

/// The moments at which clients and their background tasks have to be looked at, and what is done
/// then.
///
/// A moment is a reminder and no decision: whoever looks locks the client and judges by its state.
/// Two who look at once, or one who looks too early, do nothing wrong.
package struct TimerStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }

    /// The number of subjects that one call looks at.
    package static let turnMax = 500
}

extension TimerStore {
    /// Returns the time until the next moment, zero when it is past; nil when there is none.
    ///
    /// With a `latest`, as for all that looks at what is due, a moment after that time is not past,
    /// however far ahead the database's clock is.
    package func untilNextTimer(
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Duration? {
        let rows = try await database.run(
            """
            SELECT ceil(extract(
                    epoch FROM min(t.due_at) - least(clock_timestamp(), \(latest))) * 1000)::bigint
                AS ms
            FROM (VALUES ('client'), ('request'), ('run')) AS k (kind)
            CROSS JOIN LATERAL (
                SELECT x.due_at FROM timer x WHERE x.kind = k.kind ORDER BY x.due_at LIMIT 1) t
            """
        )
        guard let wait = try rows.first?.decodeIfPresent("ms", as: Int64.self) else { return nil }
        return max(.milliseconds(wait), .zero)
    }

    /// Returns the time by which moments are past: the database's, but none after `latest`.
    static func now(notAfter latest: Date?) -> Query { "least(now(), \(latest))" }

    /// Selects the due subjects of a kind, of which those after the limit wait for the next turn.
    ///
    /// When more are due than that, each tenant has a share, and what is left of the turn is for
    /// those that have been due for longest. With more tenants than places, these are for the
    /// tenants that have waited longest. It then costs two look-ups for each tenant that has timers
    /// of the kind.
    static func due(_ kind: Query, at now: Query) -> Query {
        let places: Query =
            "(SELECT greatest(\(turnMax) / greatest(count(*), 1), 1) FROM sharer)"
        return """
            WITH RECURSIVE page AS MATERIALIZED (
                SELECT t.subject, t.due_at FROM timer t
                WHERE t.kind = \(kind) AND t.due_at <= \(now)
                ORDER BY t.due_at LIMIT \(turnMax)
            ),
            -- Nobody needs a share while there is a place for all.
            walk (tenant_id) AS (
                SELECT x.tenant_id FROM (\(nextTenant(kind, after: "\(UUID.zero)"))) x
                WHERE (SELECT count(*) FROM page) = \(turnMax)
                UNION ALL
                SELECT x.tenant_id FROM walk w
                CROSS JOIN LATERAL (\(nextTenant(kind, after: "w.tenant_id"))) x
            ),
            sharer AS MATERIALIZED (
                SELECT w.tenant_id FROM walk w
                CROSS JOIN LATERAL (\(first("1", of: "w.tenant_id", kind))) x
                WHERE x.due_at <= \(now)
            ),
            share AS (
                SELECT x.subject, x.due_at FROM sharer s
                CROSS JOIN LATERAL (
                    \(first(places, of: "s.tenant_id", kind))
                ) x
                WHERE x.due_at <= \(now)
            )
            SELECT y.subject FROM (
                SELECT s.subject, s.due_at, 1 AS rank FROM share s
                UNION ALL
                SELECT p.subject, p.due_at, 2 FROM page p
            ) y
            GROUP BY y.subject ORDER BY min(y.rank), min(y.due_at) LIMIT \(turnMax)
            """
    }

    /// Selects the next tenant that has timers of a kind.
    private static func nextTenant(_ kind: Query, after tenant: Query) -> Query {
        """
        SELECT t.tenant_id FROM timer t
        WHERE t.shared_kind = \(kind) AND t.tenant_id > \(tenant)
        ORDER BY t.shared_kind, t.tenant_id LIMIT 1
        """
    }

    /// Selects the first timers of a kind of a tenant, due or not.
    private static func first(_ count: Query, of tenant: Query, _ kind: Query) -> Query {
        """
        SELECT t.subject, t.due_at FROM timer t
        WHERE t.shared_kind = \(kind) AND t.tenant_id = \(tenant)
        ORDER BY t.shared_kind, t.tenant_id, t.due_at LIMIT \(count)
        """
    }

    /// Selects what is due of a kind for the statements that follow in the transaction, as
    /// ``dueSubjects``, so that all of them are about the same.
    static func findDue(_ kind: Query, at now: Query) -> Query {
        "SELECT set_config('transferd.due', ARRAY(\(due(kind, at: now)))::text, true)"
    }

    /// The array of the subjects that ``findDue(_:at:)`` has found.
    static let dueSubjects: Query =
        "nullif(current_setting('transferd.due', true), '')::uuid[]"

    /// Selects those of ``dueSubjects`` that are marked with the fence.
    static func held(under fence: Int64) -> Query {
        """
        SELECT t.subject FROM timer t
        WHERE t.subject = ANY (\(dueSubjects)) AND t.fence = \(fence)
        """
    }
}

extension TimerStore {
    /// Does what is due for clients in the background: announces the end of their assertions,
    /// suspends those that hold none, and terminates those that have not ended theirs.
    ///
    /// A client whose row is locked is left for the next turn.
    ///
    /// - Returns: the number of clients looked at.
    package func advanceClients(notAfter latest: Date? = nil) async throws(StoreError) -> Int {
        let fence = Int64.random(in: 1...Int64.max)
        let held = Self.held(under: fence)
        let now = Self.now(notAfter: latest)
        let rows = try await database.run(
            [
                Self.findDue("'client'", at: now),
                // The lock first, so that the next statement sees all that was done under it.
                """
                WITH locked AS MATERIALIZED (
                    SELECT c.id FROM client c WHERE c.id = ANY (\(Self.dueSubjects))
                    ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED
                )
                UPDATE timer t SET fence = \(fence) FROM locked l
                WHERE t.subject = ANY (ARRAY[l.id])
                """,
                """
                WITH state AS MATERIALIZED (
                    SELECT c.id, c.tenant_id, c.lifecycle AS before, c.assertions_end_at,
                        CASE
                            WHEN a.held = 0 AND c.grace_ends_at <= \(now) THEN 'suspended'
                            WHEN a.held > 0 AND c.assertions_end_at <= \(now) THEN 'terminated'
                            END AS lifecycle,
                        CASE WHEN a.held = 0 THEN 'grace_ended' ELSE 'assertion_leaked' END
                            AS reason
                    FROM client c CROSS JOIN LATERAL (
                        SELECT count(*) AS held FROM assertion x
                        WHERE x.client_id = c.id AND x.ended_at IS NULL
                    ) a
                    WHERE c.id = ANY (ARRAY(\(held))) AND c.lifecycle = 'background'
                ),
                target AS MATERIALIZED (SELECT * FROM state WHERE lifecycle IS NOT NULL),
                warned AS (
                    UPDATE assertion a SET is_expiring = true FROM state s
                    WHERE s.lifecycle IS NULL AND s.assertions_end_at
                            - \(Assertion.notice.milliseconds) * interval '1 ms' <= \(now)
                        AND a.client_id = s.id AND a.ended_at IS NULL AND NOT a.is_expiring
                    RETURNING a.client_id, a.id, a.name, s.assertions_end_at
                ),
                \(ClientStore.moveTargets),
                happening AS (
                    SELECT * FROM move_event
                    UNION ALL
                    SELECT client_id, row_number() OVER (ORDER BY id), 'assertion.expiring', id,
                        \(AssertionStore.details)
                    FROM warned
                ),
                \(EventRuns.recordClientEvents)
                SELECT id FROM moved
                """,
            ] + ClientStore.setTimers(of: "c.id = ANY (ARRAY(\(held)))")
        )
        return rows[1].affectedCount
    }
}
