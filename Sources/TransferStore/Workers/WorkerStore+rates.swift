import Foundation
import Postgres
import TransferModel

extension WorkerStore {
    /// Reads the changes that a worker must follow, in one round trip.
    ///
    /// As long as nothing is paused and no limit is changed or shared, this reads one row more than
    /// the revocations alone. Counting the attempts that share a limit reads the running attempts
    /// of all workers.
    package func controls(
        incarnation: Int32,
        _ query: RateQuery = RateQuery()
    ) async throws(StoreError) -> Controls {
        let isSharing = !query.owners.isEmpty
        let rows = try await database.run(
            ["SELECT fence FROM revocation WHERE worker = \(incarnation)", PauseStore.select()]
                + (query.version.map { [Self.limits(of: incarnation, since: $0)] } ?? [])
                + (isSharing ? [Self.sharers(incarnation, query)] : [])
        )
        var controls = Controls()
        for row in rows[1] { controls.pauses.append(try Pause(row)) }
        for row in rows[0] { controls.revocations.append(try row.fence("fence")) }
        if query.version != nil {
            for row in rows[2] {
                controls.limits[try row.fence("fence")] = try RateLimits(row)
            }
        }
        for row in isSharing ? Array(rows[rows.count - 1]) : [] {
            let sharers = Controls.Sharers(
                own: try row.decode("own"),
                all: try row.decode("total")
            )
            let owner: RateOwner =
                try row.decode("is_tenant")
                ? .tenant(try row.tenant("id")) : .session(try row.session("id"))
            controls.sharers[owner] = sharers
        }
        return controls
    }

    /// The statement that tells all workers that a limit has changed.
    ///
    /// It is the last of a transaction that changes one, so that others wait for its row no longer
    /// than the commit takes.
    static let countLimitChange: Query = "UPDATE limit_change SET version = version + 1"

    /// The columns for the limits of an attempt: of its task `t`, its session `s` and its tenant
    /// `n`.
    static let selectLimits: Query = """
        coalesce(t.options->>'bytes_per_second_max', s.options->>'bytes_per_second_max')::bigint
            AS task_rate_max,
        s.total_bytes_per_second_max AS session_rate_max,
        n.total_bytes_per_second_max AS tenant_rate_max,
        (SELECT version FROM limit_change) AS limits_version
        """

    private static func limits(of incarnation: Int32, since version: Int64) -> Query {
        // The condition on the version alone is evaluated once, before any other table is read.
        """
        SELECT a.fence, \(selectLimits)
        FROM (SELECT * FROM running_attempt WHERE \(AttemptRuns.areOf(incarnation))) a
        JOIN task t ON t.id = ANY (ARRAY[a.task_id])
        JOIN session s ON s.id = ANY (ARRAY[t.session_id])
        JOIN tenant n ON n.id = ANY (ARRAY[t.tenant_id])
        WHERE (SELECT version FROM limit_change) > \(version)
        """
    }

    private static func sharers(_ incarnation: Int32, _ query: RateQuery) -> Query {
        var sessions: [UUID] = []
        var tenants: [UUID] = []
        for owner in query.owners {
            switch owner {
            case .session(let id): sessions.append(id.uuid)
            case .tenant(let id): tenants.append(id.uuid)
            }
        }
        return """
            WITH running AS (
                SELECT session_id, count(*) AS total,
                    count(*) FILTER (WHERE worker = \(incarnation)) AS own
                FROM running_attempt GROUP BY session_id
            )
            SELECT false AS is_tenant, session_id AS id, own, total FROM running
            WHERE session_id = ANY (\(sessions))
            UNION ALL
            SELECT true, s.tenant_id, sum(r.own)::bigint, sum(r.total)::bigint
            FROM running r JOIN session s ON s.id = ANY (ARRAY[r.session_id])
            WHERE s.tenant_id = ANY (\(tenants))
            GROUP BY s.tenant_id
            """
    }
}

extension RateLimits {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            task: try row.decodeIfPresent("task_rate_max"),
            session: try row.decodeIfPresent("session_rate_max"),
            tenant: try row.decodeIfPresent("tenant_rate_max"),
            version: try row.decode("limits_version")
        )
    }
}
