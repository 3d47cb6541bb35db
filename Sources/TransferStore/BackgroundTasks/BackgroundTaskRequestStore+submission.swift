package import Foundation
import Postgres
package import TransferModel

extension BackgroundTaskRequestStore {
    /// Returns a request as it would be submitted now; nil when its client has no handler for it.
    package func draft(
        _ request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        occurrence: Date?,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> RequestDraft? {
        let moments = Self.moments(request, occurrence, of: client, tenant, at: nil, where: "true")
        let rows = try await database.run(
            """
            SELECT x.kind, x.now, x.last_launched_at, \(Self.dueTime(of: request)) AS due_at,
                \(Self.firstWait) AS waits_for
            FROM (\(moments)) x
            """
        )
        guard let row = rows.first else { return nil }
        let submittedAt: Date = try row.decode("now")
        let dueAt: Date = try row.decode("due_at")
        return RequestDraft(
            request: PendingRequest(
                id: id,
                client: client,
                kind: try row.word("kind"),
                request: request,
                submittedAt: submittedAt,
                wait: RequestWait(
                    reason: try row.word("waits_for"),
                    since: submittedAt,
                    until: dueAt
                )
            ),
            dueAt: dueAt,
            lastLaunchedAt: try row.decodeIfPresent("last_launched_at")
        )
    }

    /// Submits a request under the new identifier `id`, in place of a pending one of the same task;
    /// `occurrence` is the first time of a request that recurs.
    ///
    /// With `immediate`, a request that may not wait and what was decided about it, it is launched
    /// at once or not submitted, and then the pending one stays. With `answer`, it is submitted as
    /// the draft says, or not, and once under the key of the record.
    package func submitRequest(
        _ request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        occurrence: Date?,
        of client: ClientID,
        tenant: TenantID,
        immediate: (request: DueRequest, decision: LaunchDecision)? = nil,
        answer: (draft: RequestDraft, record: IdempotencyRecord)? = nil
    ) async throws(StoreError) -> SubmitRequestResult {
        let isOwner = ClientStore.isNamed(client, tenant)
        let fence = immediate.map { _ in Int64.random(in: 1...Int64.max) }
        var launch: [Query] = []
        if let immediate, let fence, immediate.decision.isLaunch {
            launch = [TimerStore.launch(DecisionColumns([immediate]), under: fence)]
        }
        let mayLaunch = immediate.map { Self.mayLaunch($0.request, $0.decision) } ?? "true"
        let isCurrent = Self.isCurrent(answer?.draft)
        let moments = Self.moments(
            request,
            occurrence,
            of: client,
            tenant,
            at: answer?.draft.request.submittedAt,
            where: """
                \(Self.mayBeStored(request, of: tenant)) AND \(isCurrent) AND \(mayLaunch)
                """
        )
        let insertion = try Self.insert(request, id, tenant, moments, dueAt: answer?.draft.dueAt)
        let idempotency = IdempotencyStore(database)
        let kept = try idempotency.keepAnswer(answer?.record, tenant: tenant)
        let rows = try await idempotency.runOnce(
            Self.replace(
                request.identifier,
                of: client,
                tenant,
                by: "WITH counter AS (\(insertion)), \(kept) SELECT id FROM counter",
                under: fence
            ) + [
                Self.facts(of: request.identifier, isCurrent: isCurrent, client, tenant),
                Self.select(where: "\(isOwner) AND q.id = \(id.uuid)"),
            ] + launch,
            keeping: answer?.record
        )
        guard let rows else {
            return try await idempotency.keptAnswer(answer?.record, tenant: tenant)
                .map { .replay($0) } ?? .idempotencyMismatch
        }
        if let row = rows[5].first { return .submitted(try PendingRequest(row)) }
        // The first request with the key may have been launched just now, and refuse this one.
        if let record = answer?.record,
            let earlier = try await earlierResult(of: record, tenant: tenant)
        {
            return earlier
        }
        guard let facts = rows[4].first else { return .unknownClient }
        return try Self.refusal(of: request, facts, immediate?.decision)
    }

    /// Returns the result of an earlier request with the key of a record; nil if there is none.
    private func earlierResult(
        of record: IdempotencyRecord,
        tenant: TenantID
    ) async throws(StoreError) -> SubmitRequestResult? {
        let found = try await IdempotencyStore(database).lookUp(
            idempotencyKey: record.key,
            requestSHA256: record.requestSHA256,
            tenant: tenant
        )
        return switch found {
        case .none: nil
        case .replay(let response): .replay(response)
        case .mismatch: .idempotencyMismatch
        }
    }

    /// Returns the four statements that lock a client and put a request in the place of that of an
    /// identifier, with its timer, if the third inserts it.
    private static func replace(
        _ identifier: BackgroundTaskIdentifier,
        of client: ClientID,
        _ tenant: TenantID,
        by insertion: Query,
        under fence: Int64?
    ) -> [Query] {
        let isOwned: Query = """
            \(ClientStore.isNamed(client, tenant)) AND q.identifier = \(identifier.name)
            """
        return [
            ClientStore.lock(client, of: tenant),
            // The timer of a request that is replaced.
            "DELETE FROM timer WHERE subject = (\(selectID(where: isOwned)))",
            insertion,
            """
            INSERT INTO timer (subject, kind, tenant_id, due_at, fence)
            SELECT q.id, 'request', q.tenant_id, q.due_at, \(fence)
            FROM background_task_request q
            WHERE q.id = (\(selectID(where: isOwned)))
                -- One that stays because its successor is refused may have been launched.
                AND q.due_at IS NOT NULL
            ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at, fence = excluded.fence
            """,
        ]
    }

    /// Selects what decides whether a request of an identifier is stored, for the reason of its
    /// refusal.
    private static func facts(
        of identifier: BackgroundTaskIdentifier,
        isCurrent: Query,
        _ client: ClientID,
        _ tenant: TenantID
    ) -> Query {
        """
        SELECT c.lifecycle, h.kind, n.are_background_tasks_on, \(hasRoom) AS has_room,
            \(TimerStore.openRuns(of: "h.identifier")), \(isCurrent) AS is_current,
            \(HandlerStore.permits(identifier, tenant: tenant)) AS is_permitted
        FROM client c
        JOIN tenant n ON n.id = c.tenant_id
        LEFT JOIN background_task_handler h
            ON h.client_id = c.id AND h.identifier = \(identifier.name)
        WHERE \(ClientStore.isNamed(client, tenant))
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
        guard try facts.decode("is_current") else { return .outdated }
        guard let decision, try facts.decode("has_room") else { return .tooManyPending(kind) }
        if case .wait(let reason, _) = decision { return .ineligible(reason) }
        // Something was launched since the decision.
        if try facts.decode("is_running") { return .ineligible(.run) }
        let openRuns: Int64 = try facts.decode("open_runs")
        return .ineligible(openRuns < BackgroundTaskRun.openMax ? nil : .budget)
    }
}

extension BackgroundTaskRequestStore {
    /// Whether a handler `h` is as it was for a draft.
    private static func isCurrent(_ draft: RequestDraft?) -> Query {
        guard let draft else { return "true" }
        return """
            (h.kind = \(draft.request.kind.rawValue)
                AND h.last_launched_at IS NOT DISTINCT FROM \(draft.lastLaunchedAt))
            """
    }

    /// Whether a request that may not wait can be launched under the lock of its client `c`, by
    /// what was decided before and by the bounds that ``TimerStore/launch(_:under:)`` keeps.
    private static func mayLaunch(_ request: DueRequest, _ decision: LaunchDecision) -> Query {
        guard decision.isLaunch else { return "false" }
        return """
            c.id = \(request.clientID) AND (
                SELECT NOT x.is_running AND x.open_runs < \(BackgroundTaskRun.openMax)
                FROM (SELECT \(TimerStore.openRuns(of: "h.identifier"))) x)
            """
    }

    /// Whether a client `c` of a tenant `n` with a handler `h` may have a request stored.
    private static func mayBeStored(
        _ request: BackgroundTaskRequest,
        of tenant: TenantID
    ) -> Query {
        let fitting = BackgroundTaskKind.allCases.filter(request.fits).map(\.rawValue)
        return """
            n.are_background_tasks_on AND c.lifecycle <> 'force_quit'
            AND h.kind = ANY (\(fitting))
            AND \(HandlerStore.permits(request.identifier, tenant: tenant)) AND \(hasRoom)
            """
    }

    /// Whether the client `c` of a handler `h` may have another pending request of its kind.
    ///
    /// Those that were launched do not count. They may be pending again, because a launch that
    /// nobody accepts is not lost to what was submitted since.
    private static let hasRoom: Query = """
        (
            SELECT count(*) FROM background_task_request p
            WHERE p.client_id = c.id AND p.kind = h.kind AND p.due_at IS NOT NULL
                AND p.identifier <> h.identifier
        ) < CASE h.kind WHEN 'app_refresh'
            THEN \(BackgroundTaskKind.appRefresh.pendingMax)
            ELSE \(BackgroundTaskKind.processing.pendingMax) END
        """

    /// Selects the moments of a request that is submitted at `time`, or now, from the handler `h`
    /// of its client `c`.
    private static func moments(
        _ request: BackgroundTaskRequest,
        _ occurrence: Date?,
        of client: ClientID,
        _ tenant: TenantID,
        at time: Date?,
        where condition: Query
    ) -> Query {
        """
        SELECT c.id AS client_id, h.kind, h.last_launched_at, o.now,
            greatest(coalesce(\(occurrence), \(request.earliestBeginAt), o.now), o.now)
                AS occurrence_at,
            h.last_launched_at
                + \(request.minInterval?.milliseconds)::bigint * interval '1 ms' AS interval_end
        FROM client c
        CROSS JOIN (SELECT coalesce(\(time), clock_timestamp()) AS now) o
        JOIN background_task_handler h
            ON h.client_id = c.id AND h.identifier = \(request.identifier.name)
        JOIN tenant n ON n.id = c.tenant_id
        WHERE \(ClientStore.isNamed(client, tenant)) AND \(condition)
        """
    }

    /// The first time of a request with moments `x`, with a random delay.
    private static func dueTime(of request: BackgroundTaskRequest) -> Query {
        let jitter = request.recurrence?.jitter.milliseconds ?? 0
        return """
            greatest(x.occurrence_at + random() * \(jitter) * interval '1 ms', x.interval_end)
            """
    }

    /// What a request with moments `x` waits for at first.
    private static let firstWait: Query = """
        CASE WHEN x.interval_end > x.occurrence_at THEN 'interval' ELSE 'date' END
        """

    private static func insert(
        _ request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        _ tenant: TenantID,
        _ moments: Query,
        dueAt: Date?
    ) throws(StoreError) -> Query {
        let recurrence = try request.recurrence.map { recurrence throws(StoreError) in
            try StoredJSON.encode(StoredRecurrence(recurrence))
        }
        return """
            INSERT INTO background_task_request AS q (
                id, client_id, tenant_id, identifier, kind, submitted_at, earliest_begin_at,
                requires_network, requires_power, min_interval_ms, recurrence, cancels_transfers,
                completes_with_transfers, title, subtitle, occurrence_at, due_at, waits_for,
                waits_since)
            SELECT \(id.uuid), x.client_id, \(tenant.uuid), \(request.identifier.name), x.kind,
                x.now, \(request.earliestBeginAt), \(request.requiresNetworkConnectivity),
                \(request.requiresExternalPower), \(request.minInterval?.milliseconds)::bigint,
                \(recurrence)::jsonb, \(request.cancelsTransfersAtExpiry),
                \(request.completesWithTransfers), \(request.title), \(request.subtitle),
                x.occurrence_at, coalesce(\(dueAt), \(dueTime(of: request))), \(firstWait), x.now
            FROM (\(moments)) x
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
            RETURNING q.id
            """
    }
}
