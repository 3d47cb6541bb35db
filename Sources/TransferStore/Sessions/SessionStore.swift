import Foundation
import Postgres
package import TransferModel
import TransferSecrets

/// Sessions: their configuration, their end, and who looks after their tasks.
package struct SessionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension SessionStore {
    /// Creates the tenant's session `identifier`, or gives the living one `configuration`; without
    /// one, a new session has the defaults and a living one keeps its own.
    ///
    /// Without a `kind`, a new session is a background session. A living session of another kind
    /// than `kind` is not changed. If `condition` is not met, nothing is stored. Unless
    /// `mayChange`, a living session is not changed either, and another configuration is refused.
    ///
    /// Of parallel calls, exactly one creates the session.
    package func putSession(
        tenant: TenantID,
        client: ClientID = .default,
        identifier: String,
        kind: Session.Kind? = nil,
        configuration given: SessionConfiguration?,
        if condition: RevisionCondition = .none,
        mayChange: Bool = true
    ) async throws(StoreError) -> PutSessionResult {
        let id = UUID.version7()
        let configuration = given ?? SessionConfiguration()
        let headers = try database.sealer.seal(
            headers: configuration.additionalHeaders,
            at: .headers(ofSession: identifier, client, tenant)
        )
        let options = try StoredJSON.text(of: configuration.options)
        let room = Database.hasRoom(
            in:
                "SELECT 1 FROM session x WHERE x.tenant_id = \(tenant.uuid) AND x.invalidated_at IS NULL",
            maximum: Quota.sessionsMax
        )
        // 1. Hold the client as it is, so that a session is either force-quit with it or created
        //    so.
        // 2. Wait for other changes, so that the next statement sees the row it changes.
        // 3. Insert, or update the existing one, and report changed limits.
        // 4. Give a new session its counters.
        let rows = try await database.run([
            """
            SELECT kind FROM client
            WHERE tenant_id = \(tenant.uuid) AND identifier = \(client.name) AND removed_at IS NULL
            FOR SHARE
            """,
            """
            SELECT 1 FROM session
            WHERE tenant_id = \(tenant.uuid) AND client = \(client.name)
                AND identifier = \(identifier) COLLATE "C" AND invalidated_at IS NULL
            FOR NO KEY UPDATE
            """,
            """
            WITH old AS (
                SELECT \(Self.selectOwnLimits) FROM session s
                WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                    AND s.identifier = \(identifier) COLLATE "C" AND s.invalidated_at IS NULL
            ),
            new AS (
                INSERT INTO session AS s (
                    id, tenant_id, client, identifier, kind, timeout_for_request_ms,
                    timeout_for_resource_ms, additional_headers, options,
                    total_bytes_per_second_max, shared_container_identifier,
                    result_retention_ms, max_connections_per_host, is_discretionary, revision)
                SELECT
                    \(id), c.tenant_id, c.identifier, \(identifier),
                    \((kind ?? .background).rawValue),
                    \(configuration.timeoutForRequest.milliseconds),
                    \(configuration.timeoutForResource.milliseconds), \(headers)::text::jsonb,
                    \(options)::text::jsonb, \(configuration.totalBytesPerSecondMax),
                    \(configuration.sharedContainerIdentifier),
                    \(configuration.resultRetention?.milliseconds),
                    \(configuration.maxConnectionsPerHost.map { Int16($0) }),
                    \(configuration.isDiscretionary), \(Int32.random(in: 1...Session.firstRevisionMax))
                FROM client c
                WHERE c.tenant_id = \(tenant.uuid) AND c.identifier = \(client.name)
                    AND c.removed_at IS NULL
                    AND (c.kind = 'app'
                        OR \(configuration.sharedContainerIdentifier != nil))
                    -- Counted only for one that is new.
                    AND CASE WHEN EXISTS (SELECT 1 FROM old) THEN true
                        WHEN \(condition.allowsNew) THEN \(room) ELSE false END
                ON CONFLICT (tenant_id, client, identifier COLLATE "C") WHERE invalidated_at IS NULL
                DO UPDATE SET
                    timeout_for_request_ms = excluded.timeout_for_request_ms,
                    timeout_for_resource_ms = excluded.timeout_for_resource_ms,
                    additional_headers = excluded.additional_headers,
                    options = excluded.options,
                    total_bytes_per_second_max = excluded.total_bytes_per_second_max,
                    shared_container_identifier = excluded.shared_container_identifier,
                    result_retention_ms = excluded.result_retention_ms,
                    max_connections_per_host = excluded.max_connections_per_host,
                    is_discretionary = excluded.is_discretionary,
                    revision = s.revision + 1
                WHERE \(given != nil && mayChange) AND (\(kind == nil) OR s.kind = excluded.kind)
                    AND \(Fragment.hasRevision("s.revision", condition))
                RETURNING s.id = \(id) AS is_created, \(Self.selectOwnLimits)
            ),
            \(Self.countLimitChangeOfSession)
            SELECT is_created FROM new
            """,
            """
            INSERT INTO session_progress (session_id, is_force_quit)
            SELECT s.id, c.lifecycle = 'force_quit'
            FROM session s JOIN client c ON c.tenant_id = ANY (ARRAY[s.tenant_id])
                AND c.identifier = ANY (ARRAY[s.client])
            WHERE s.id = \(id)
            """,
            Self.selectSession(tenant: tenant, client: client, identifier: identifier),
        ])
        guard let owner = rows[0].first else { return .unknownClient }
        let ownerKind = try owner.word("kind", as: Client.Kind.self)
        let mayBeMade = ownerKind == .app || configuration.sharedContainerIdentifier != nil
        guard mayBeMade || given == nil && !rows[4].isEmpty else {
            return .sharedContainerRequired
        }
        guard let row = rows[4].first else {
            guard condition.allowsNew else { return .conditionFailed }
            throw .quotaExceeded(Quota(.sessions, maximum: Quota.sessionsMax))
        }
        let session = try Session(row)
        if let change = rows[2].first {
            return try change.decode("is_created") ? .created(session) : .updated(session)
        }
        // It was not changed, for one of three reasons or because nothing was given.
        guard kind.map({ $0 == session.kind }) ?? true else { return .updated(session) }
        guard condition.revisions?.contains(session.revision) ?? true else {
            return .conditionFailed
        }
        // Its headers are sealed, so they cannot be compared in SQL.
        let isEqual =
            given.map { $0.withDefaults(of: session.kind) }
            .map { $0 == session.configuration.withDefaults(of: session.kind) } ?? true
        return mayChange || isEqual ? .updated(session) : .configurationDiffers
    }

    /// Gives a session another configuration, unless it was changed or ended since it was read.
    ///
    /// - Returns: false when it was changed or ended.
    package func changeSession(
        _ session: Session,
        to configuration: SessionConfiguration
    ) async throws(StoreError) -> Bool {
        let headers = try database.sealer.seal(
            headers: configuration.additionalHeaders,
            at: .headers(ofSession: session.identifier, session.client, session.tenant)
        )
        let options = try StoredJSON.text(of: configuration.options)
        let rows = try await database.run(
            """
            WITH old AS (
                SELECT s.id, \(Self.selectOwnLimits) FROM session s WHERE id = \(session.id.uuid)
            ),
            new AS (
                UPDATE session s SET
                    timeout_for_request_ms = \(configuration.timeoutForRequest.milliseconds),
                    timeout_for_resource_ms = \(configuration.timeoutForResource.milliseconds),
                    additional_headers = \(headers)::text::jsonb,
                    options = \(options)::text::jsonb,
                    total_bytes_per_second_max = \(configuration.totalBytesPerSecondMax),
                    shared_container_identifier = \(configuration.sharedContainerIdentifier),
                    result_retention_ms = \(configuration.resultRetention?.milliseconds),
                    max_connections_per_host =
                        \(configuration.maxConnectionsPerHost.map { Int16($0) }),
                    is_discretionary = \(configuration.isDiscretionary),
                    revision = revision + 1
                FROM old
                WHERE s.id = ANY (ARRAY[old.id]) AND s.revision = \(session.revision)
                    AND \(Fragment.isLivingByKey)
                RETURNING \(Self.selectOwnLimits)
            ),
            \(Self.countLimitChangeOfSession)
            SELECT 1 FROM new
            """
        )
        return !rows.isEmpty
    }

    /// The limits of a session `s` that its running tasks have to follow.
    private static let selectOwnLimits: Query = """
        s.total_bytes_per_second_max AS total, s.options->>'bytes_per_second_max' AS each
        """

    /// Counts a change of a session's limits; expects `old` and `new` with the limits before and
    /// after.
    private static let countLimitChangeOfSession: Query = """
        limit_change_row AS (
            UPDATE limit_change SET version = version + 1
            FROM old, new WHERE (old.total, old.each) IS DISTINCT FROM (new.total, new.each)
        )
        """

    /// Returns the tenant's living session `identifier`.
    package func session(
        tenant: TenantID,
        client: ClientID = .default,
        identifier: String
    ) async throws(StoreError) -> Session? {
        try await database.fetchFirst(
            Session.self,
            Self.selectSession(tenant: tenant, client: client, identifier: identifier)
        )
    }

    /// Returns the tenant's living session `identifier`, or else the background session of that
    /// name that ended last, for as long as it is kept.
    package func sessionOrEnded(
        tenant: TenantID,
        client: ClientID = .default,
        identifier: String
    ) async throws(StoreError) -> Session? {
        let living = try await session(tenant: tenant, client: client, identifier: identifier)
        if let living { return living }
        return try await database.fetchFirst(
            Session.self,
            """
            \(Self.selectSession)
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                AND s.identifier = \(identifier) COLLATE "C" AND s.invalidated_at IS NOT NULL
                AND s.kind = 'background'
            ORDER BY s.invalidated_at DESC LIMIT 1
            """
        )
    }

    private static func selectSession(
        tenant: TenantID,
        client: ClientID,
        identifier: String
    ) -> Query {
        """
        \(selectSession)
        WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
            AND s.identifier = \(identifier) COLLATE "C" AND s.invalidated_at IS NULL
        """
    }

    private static let selectSession: Query = """
        SELECT
            s.id, s.tenant_id, s.client, s.identifier, s.kind, s.timeout_for_request_ms,
            s.timeout_for_resource_ms, s.additional_headers, s.options,
            s.total_bytes_per_second_max, s.shared_container_identifier,
            s.result_retention_ms, s.max_connections_per_host, s.is_discretionary, s.revision,
            s.created_at, p.is_finishing, p.generation, p.outstanding, p.completed,
            p.failed, p.cancelled, p.last_sequence, c.task_counts, c.bytes_received, c.bytes_sent
        FROM session s JOIN session_progress p ON p.session_id = ANY (ARRAY[s.id])
        \(CountStore.joinCountsOfSession)
        """

    /// Returns the number of outstanding tasks of sessions; sessions that do not exist are left
    /// out.
    package func outstanding(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: Int64] {
        let rows = try await database.run(
            """
            SELECT session_id, outstanding FROM session_progress
            WHERE session_id = ANY (\(sessions.map(\.uuid)))
            """
        )
        var counts: [SessionID: Int64] = [:]
        for row in rows { counts[try row.session("session_id")] = try row.decode("outstanding") }
        return counts
    }

    /// Returns a page of the living sessions of one of the tenant's clients, or of all, by client
    /// and identifier in byte order.
    ///
    /// With a `prefix`, they are those whose identifier begins with it, byte for byte; with
    /// `isOutstanding`, those with tasks that have not ended.
    package func sessions(
        tenant: TenantID,
        client: ClientID? = nil,
        prefix: String? = nil,
        isOutstanding: Bool = false,
        after place: SessionPlace?,
        limit: Int
    ) async throws(StoreError) -> ListPage<Session, SessionPlace> {
        let ofClient: Query = client.map { "s.client = \($0.name)" } ?? "true"
        let ofPrefix: Query = prefix.map { "starts_with(s.identifier, \($0))" } ?? "true"
        let ofWork: Query = isOutstanding ? "p.outstanding > 0" : "true"
        let rows = try await database.run(
            """
            \(Self.selectSession)
            WHERE s.tenant_id = \(tenant.uuid) AND s.invalidated_at IS NULL AND \(ofClient)
                AND \(ofPrefix) AND \(ofWork)
                AND (s.client, s.identifier COLLATE "C")
                    > (\(place?.client.name ?? ""), \(place?.identifier ?? ""))
            ORDER BY s.client, s.identifier COLLATE "C"
            LIMIT \(limit + 1)
            """
        )
        return try ListPage(rows, limit: limit, place: SessionPlace.init, item: Session.init)
    }

    /// Ends a session.
    ///
    /// From the commit on, none of its tasks is accepted or begins, and its identifier may be
    /// reused. Outstanding tasks are cancelled: a page at once, the rest by
    /// ``CancellationStore/continueCancellations()``. The session's events are still delivered.
    /// Apart from them, nothing of an ephemeral session can be found from now on, and soon nothing
    /// of it is left.
    ///
    /// - Returns: false when the tenant has no such living session, or `condition` is not met.
    package func invalidateSession(
        tenant: TenantID,
        client: ClientID = .default,
        identifier: String,
        if condition: RevisionCondition = .none
    ) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            """
            WITH \(Self.lock(tenant: tenant, client: client, identifier, if: condition)),
            counter AS (
                UPDATE session_progress p SET
                    is_invalidated = true, is_finishing = p.outstanding > 0,
                    last_sequence = p.last_sequence + (p.outstanding = 0)::int
                FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
                RETURNING p.session_id, p.generation, p.last_sequence - 1 AS base,
                    p.outstanding = 0 AS is_drained, true AS is_ended
            ),
            \(Self.tellInvalidated(where: "c.is_drained")),
            \(Self.endSessions),
            \(Fragment.wake)
            SELECT session_id FROM counter
            """
        )
        guard let row = rows.first else { return false }
        await CancellationStore(database).beginCancellation(of: try row.session("session_id"))
        return true
    }
}

extension Session: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let tenant = try row.tenant("tenant_id")
        let client = try row.client("client")
        let identifier = try row.decode("identifier", as: String.self)
        self.init(
            id: try row.session("id"),
            tenant: tenant,
            client: client,
            identifier: identifier,
            kind: try row.word("kind"),
            configuration: SessionConfiguration(
                timeoutForRequest: try row.milliseconds("timeout_for_request_ms"),
                timeoutForResource: try row.milliseconds("timeout_for_resource_ms"),
                additionalHeaders: try row.headers(
                    "additional_headers",
                    at: .headers(ofSession: identifier, client, tenant)
                ),
                options: try row.options("options"),
                totalBytesPerSecondMax: try row.decodeIfPresent("total_bytes_per_second_max"),
                sharedContainerIdentifier: try row.decodeIfPresent("shared_container_identifier"),
                resultRetention: try row.decodeIfPresent("result_retention_ms", as: Int64.self)
                    .map { .milliseconds($0) },
                maxConnectionsPerHost: try row.maxConnectionsPerHost(),
                isDiscretionary: try row.decode("is_discretionary")
            ),
            progress: SessionProgress(
                generation: try row.decode("generation"),
                outstanding: try row.decode("outstanding"),
                completed: try row.decode("completed"),
                failed: try row.decode("failed"),
                cancelled: try row.decode("cancelled"),
                lastSequence: try row.decode("last_sequence")
            ),
            taskCounts: try TaskCounts(row),
            createdAt: try row.decode("created_at"),
            revision: try row.decode("revision"),
            isFinishing: try row.decode("is_finishing")
        )
    }
}
