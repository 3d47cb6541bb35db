package import Foundation
import Postgres
package import TransferModel

/// The pending requests of clients to be launched.
package struct BackgroundTaskRequestStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension BackgroundTaskRequestStore {
    /// Submits a request under the new identifier `id`, in place of a pending one of the same task;
    /// `occurrence` is the first time of a request that recurs.
    ///
    /// With `immediate`, a request that may not wait and what was decided about it, it is launched at
    /// once or not submitted, and then the pending one stays.
    package func submitRequest(
        _ request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        occurrence: Date?,
        of client: ClientID,
        tenant: TenantID,
        immediate: (request: DueRequest, decision: LaunchDecision)? = nil
    ) async throws(StoreError) -> SubmitRequestResult {
        let isOwner = ClientStore.isNamed(client, tenant)
        let isOwned: Query = "\(isOwner) AND q.identifier = \(request.identifier.name)"
        let fence = immediate.map { _ in Int64.random(in: 1...Int64.max) }
        var launch: [Query] = []
        if let immediate, let fence, immediate.decision.isLaunch {
            launch = [TimerStore.launch(DecisionColumns([immediate]), under: fence)]
        }
        let insertion = try Self.insert(
            request,
            id,
            occurrence: occurrence,
            of: client,
            tenant: tenant,
            where: immediate.map { Self.mayLaunch($0.request, $0.decision) } ?? "true"
        )
        let rows = try await database.run(
            [
                ClientStore.lock(client, of: tenant),
                // The timer of a request that is replaced.
                "DELETE FROM timer WHERE subject = (\(Self.selectID(where: isOwned)))",
                insertion,
                """
                INSERT INTO timer (subject, kind, tenant_id, due_at, fence)
                SELECT q.id, 'request', q.tenant_id, q.due_at, \(fence)
                FROM background_task_request q
                WHERE q.id = (\(Self.selectID(where: isOwned)))
                    -- One that stays because its successor is refused may have been launched.
                    AND q.due_at IS NOT NULL
                ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at, fence = excluded.fence
                """,
                """
                SELECT c.lifecycle, h.kind, n.are_background_tasks_on, \(Self.hasRoom) AS has_room,
                    \(TimerStore.openRuns(of: "h.identifier")),
                    \(HandlerStore.permits(request.identifier, tenant: tenant)) AS is_permitted
                FROM client c
                JOIN tenant n ON n.id = c.tenant_id
                LEFT JOIN background_task_handler h
                    ON h.client_id = c.id AND h.identifier = \(request.identifier.name)
                WHERE \(isOwner)
                """,
                Self.select(where: "\(isOwner) AND q.id = \(id.uuid)"),
            ] + launch
        )
        guard let facts = rows[4].first else { return .unknownClient }
        if let row = rows[5].first { return .submitted(try PendingRequest(row)) }
        return try Self.refusal(of: request, facts, immediate?.decision)
    }

    /// Whether a request that may not wait can be launched under the lock of its client `c`, by what
    /// was decided before and by the bounds that ``TimerStore/launch(_:under:)`` keeps.
    private static func mayLaunch(_ request: DueRequest, _ decision: LaunchDecision) -> Query {
        guard decision.isLaunch else { return "false" }
        return """
            c.id = \(request.clientID) AND (
                SELECT NOT x.is_running AND x.open_runs < \(BackgroundTaskRun.openMax)
                FROM (SELECT \(TimerStore.openRuns(of: "h.identifier"))) x)
            """
    }

    /// Returns why a request was not stored.
    private static func refusal(
        of request: BackgroundTaskRequest,
        _ facts: StoredRow,
        _ decision: LaunchDecision?
    ) throws(StoreError) -> SubmitRequestResult {
        guard try facts.decode("is_permitted"),
            try facts.decodeIfPresent("kind", as: String.self) != nil
        else { return .notPermitted }
        guard try facts.decode("are_background_tasks_on") else { return .unavailable }
        let lifecycle: Client.Lifecycle = try facts.word("lifecycle")
        guard lifecycle != .forceQuit else { return .clientForceQuit }
        let kind: BackgroundTaskKind = try facts.word("kind")
        guard request.fits(kind) else { return .unfit(kind) }
        guard let decision, try facts.decode("has_room") else { return .tooManyPending(kind) }
        if case .wait(let reason, _) = decision { return .ineligible(reason) }
        // Something was launched since the decision.
        if try facts.decode("is_running") { return .ineligible(.run) }
        let openRuns: Int64 = try facts.decode("open_runs")
        return .ineligible(openRuns < BackgroundTaskRun.openMax ? nil : .budget)
    }

    /// Whether the client `c` of a handler `h` may have another pending request of its kind.
    private static let hasRoom: Query = """
        (
            SELECT count(*) FROM background_task_request p
            WHERE p.client_id = c.id AND p.kind = h.kind AND p.due_at IS NOT NULL
                AND p.identifier <> h.identifier
        ) < CASE h.kind WHEN 'app_refresh'
            THEN \(BackgroundTaskKind.appRefresh.pendingMax)
            ELSE \(BackgroundTaskKind.processing.pendingMax) END
        """

    private static func insert(
        _ request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        occurrence: Date?,
        of client: ClientID,
        tenant: TenantID,
        where condition: Query
    ) throws(StoreError) -> Query {
        let recurrence = try request.recurrence.map { recurrence throws(StoreError) in
            try StoredJSON.encode(StoredRecurrence(recurrence))
        }
        let jitter = request.recurrence?.jitter.milliseconds ?? 0
        let fitting = BackgroundTaskKind.allCases.filter(request.fits).map(\.rawValue)
        return """
            INSERT INTO background_task_request AS q (
                id, client_id, tenant_id, identifier, kind, submitted_at, earliest_begin_at,
                requires_network, requires_power, min_interval_ms, recurrence, cancels_transfers,
                completes_with_transfers, title, subtitle, occurrence_at, due_at, waits_for,
                waits_since)
            SELECT \(id.uuid), x.client_id, \(tenant.uuid), \(request.identifier.name), x.kind,
                x.now, \(request.earliestBeginAt), \(request.requiresNetworkConnectivity),
                \(request.requiresExternalPower), x.min_interval_ms, \(recurrence)::jsonb,
                \(request.cancelsTransfersAtExpiry), \(request.completesWithTransfers),
                \(request.title), \(request.subtitle), x.occurrence_at,
                greatest(x.occurrence_at + random() * \(jitter) * interval '1 ms', x.interval_end),
                CASE WHEN x.interval_end > x.occurrence_at THEN 'interval' ELSE 'date' END, x.now
            FROM (
                SELECT c.id AS client_id, h.kind, o.now, \(request.minInterval?.milliseconds)::bigint
                        AS min_interval_ms,
                    greatest(coalesce(\(occurrence), \(request.earliestBeginAt), o.now), o.now)
                        AS occurrence_at,
                    h.last_launched_at
                        + \(request.minInterval?.milliseconds)::bigint * interval '1 ms'
                        AS interval_end
                FROM client c
                CROSS JOIN (SELECT clock_timestamp() AS now) o
                JOIN background_task_handler h
                    ON h.client_id = c.id AND h.identifier = \(request.identifier.name)
                JOIN tenant n ON n.id = c.tenant_id AND n.are_background_tasks_on
                WHERE \(ClientStore.isNamed(client, tenant)) AND c.lifecycle <> 'force_quit'
                    AND h.kind = ANY (\(fitting))
                    AND \(HandlerStore.permits(request.identifier, tenant: tenant))
                    AND \(hasRoom) AND \(condition)
            ) x
            ON CONFLICT (client_id, identifier) DO UPDATE SET
                id = excluded.id, kind = excluded.kind, submitted_at = excluded.submitted_at,
                earliest_begin_at = excluded.earliest_begin_at,
                requires_network = excluded.requires_network,
                requires_power = excluded.requires_power,
                min_interval_ms = excluded.min_interval_ms, recurrence = excluded.recurrence,
                cancels_transfers = excluded.cancels_transfers,
                completes_with_transfers = excluded.completes_with_transfers,
                title = excluded.title, subtitle = excluded.subtitle,
                occurrence_at = excluded.occurrence_at, due_at = excluded.due_at,
                waits_for = excluded.waits_for, waits_since = excluded.waits_since,
                launches = 0, refusals = 0
            """
    }

    /// Returns the pending requests of a client by identifier, in byte order.
    package func pendingRequests(
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> [PendingRequest] {
        try await database.fetch(
            PendingRequest.self,
            """
            \(Self.select(where: ClientStore.isNamed(client, tenant))) AND q.due_at IS NOT NULL
            ORDER BY q.identifier
            """
        )
    }

    /// Returns the pending request of an identifier.
    package func pendingRequest(
        _ identifier: BackgroundTaskIdentifier,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> PendingRequest? {
        let rows = try await database.run(
            Self.select(
                where: """
                    \(ClientStore.isNamed(client, tenant)) AND q.due_at IS NOT NULL
                    AND q.identifier = \(identifier.name)
                    """
            )
        )
        guard let row = rows.first else { return nil }
        return try PendingRequest(row)
    }

    /// Cancels the request of an identifier, or all requests of a client; runs continue.
    ///
    /// - Returns: the number of pending requests that were cancelled; nil when the tenant has no such
    ///   client.
    package func cancelRequests(
        _ identifier: BackgroundTaskIdentifier? = nil,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> Int? {
        let isNamed: Query = identifier.map { "q.identifier = \($0.name)" } ?? "true"
        let rows = try await database.run([
            ClientStore.lock(client, of: tenant),
            Self.cancel(
                where: """
                    \(isNamed) AND q.client_id = (
                        SELECT c.id FROM client c WHERE \(ClientStore.isNamed(client, tenant)))
                    """
            ),
        ])
        return rows[0].isEmpty ? nil : rows[1].affectedCount
    }

    /// Returns the statement that removes the requests `q` of locked clients, with their timers.
    static func cancel(where condition: Query) -> Query {
        """
        WITH gone AS (
            DELETE FROM background_task_request q WHERE \(condition) RETURNING q.id
        )
        DELETE FROM timer WHERE subject = ANY (ARRAY(SELECT g.id FROM gone g))
        """
    }

    private static func selectID(where condition: Query) -> Query {
        """
        SELECT q.id FROM client c JOIN background_task_request q ON q.client_id = c.id
        WHERE \(condition)
        """
    }

    private static func select(where condition: Query) -> Query {
        """
        SELECT q.id, c.identifier AS client, q.identifier, q.kind, q.submitted_at,
            q.earliest_begin_at, q.requires_network, q.requires_power, q.min_interval_ms,
            q.recurrence, q.cancels_transfers, q.completes_with_transfers, q.title, q.subtitle,
            q.due_at, q.waits_for, q.waits_since
        FROM client c JOIN background_task_request q ON q.client_id = c.id
        WHERE \(condition)
        """
    }
}

extension PendingRequest: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let reason: RequestWait.Reason = try row.word("waits_for")
        var request = BackgroundTaskRequest(
            identifier: BackgroundTaskIdentifier(stored: try row.decode("identifier"))
        )
        request.earliestBeginAt = try row.decodeIfPresent("earliest_begin_at")
        request.requiresNetworkConnectivity = try row.decode("requires_network")
        request.requiresExternalPower = try row.decode("requires_power")
        request.minInterval = try row.decodeIfPresent("min_interval_ms", as: Int64.self)
            .map { .milliseconds($0) }
        request.recurrence = try row.recurrence("recurrence")
        request.cancelsTransfersAtExpiry = try row.decode("cancels_transfers")
        request.completesWithTransfers = try row.decode("completes_with_transfers")
        request.title = try row.decodeIfPresent("title")
        request.subtitle = try row.decodeIfPresent("subtitle")
        self.init(
            id: BackgroundTaskRequestID(try row.decode("id")),
            client: try row.client("client"),
            kind: try row.word("kind"),
            request: request,
            submittedAt: try row.decode("submitted_at"),
            wait: RequestWait(
                reason: reason,
                since: try row.decode("waits_since"),
                until: reason.isTimed ? try row.decodeIfPresent("due_at") : nil
            )
        )
    }
}
