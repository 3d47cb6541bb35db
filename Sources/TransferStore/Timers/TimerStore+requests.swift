package import Foundation
import Postgres
package import TransferModel

extension TimerStore {
    /// Returns the requests whose time has come, with what decides about them.
    ///
    /// Nothing is locked: ``decide(_:)`` makes only decisions that still apply.
    package func dueRequests(
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> [DueRequest] {
        let now = Self.now(notAfter: latest)
        let rows = try await database.run(
            """
            SELECT q.id, q.client_id, q.kind, q.launches, q.waits_for, q.occurrence_at,
                q.recurrence, q.min_interval_ms, q.requires_network, q.requires_power,
                \(Self.facts(of: "q.identifier", at: now))
            FROM (\(Self.due("'request'", at: now))) t
            JOIN background_task_request q ON q.id = ANY (ARRAY[t.subject])
            JOIN client c ON c.id = ANY (ARRAY[q.client_id])
            JOIN tenant n ON n.id = ANY (ARRAY[q.tenant_id])
            """
        )
        var requests: [DueRequest] = []
        var unreadable: [BackgroundTaskRequestID] = []
        for row in rows {
            do throws(StoreError) {
                requests.append(try DueRequest(row))
            } catch {
                unreadable.append(BackgroundTaskRequestID(try row.decode("id")))
            }
        }
        if !unreadable.isEmpty { try await putOff(unreadable) }
        return requests
    }

    /// Returns a request that may not wait as it would be if it were submitted and due now; nil
    /// when the tenant has no such client.
    package func immediateRequest(
        _ request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> DueRequest? {
        let rows = try await database.run(
            """
            SELECT c.id AS client_id,
                \(Self.facts(of: "\(request.identifier.name)", at: "now()"))
            FROM client c JOIN tenant n ON n.id = ANY (ARRAY[c.tenant_id])
            WHERE \(ClientStore.isNamed(client, tenant))
            """
        )
        guard let row = rows.first else { return nil }
        let facts = try DueRequest.Facts(row)
        return DueRequest(
            id: id,
            clientID: try row.decode("client_id"),
            kind: .continuedProcessing,
            launches: 0,
            reason: .date,
            occurrenceAt: facts.now,
            recurrence: nil,
            minInterval: request.minInterval,
            requiresNetworkConnectivity: request.requiresNetworkConnectivity,
            requiresExternalPower: request.requiresExternalPower,
            facts: facts
        )
    }

    /// The columns of what decides about a launch of an identifier of a client `c` of a tenant `n`.
    private static func facts(of identifier: Query, at now: Query) -> Query {
        """
        \(now) AS now, c.lifecycle = 'force_quit' AS is_force_quit,
        NOT n.are_background_tasks_on AS is_disabled, n.capacity = 'idle' AS is_idle,
        (SELECT h.last_launched_at FROM background_task_handler h
            WHERE h.client_id = c.id AND h.identifier = \(identifier)) AS last_launched_at,
        \(openRuns(of: identifier)),
        coalesce((\(hasOnlyDisabledHearers)), false) AS is_unheard
        """
    }

    /// The columns of how much runs of a client `c`: `is_running`, whether the identifier does, and
    /// `open_runs`, the number of all.
    static func openRuns(of identifier: Query) -> Query {
        """
        -- Not EXISTS, for which all open runs might be read.
        (SELECT r.id FROM background_task_run r
            WHERE r.client_id = c.id AND r.identifier = \(identifier)
                AND r.ended_at IS NULL) IS NOT NULL AS is_running,
        (SELECT count(*) FROM background_task_run r
            WHERE r.client_id = c.id AND r.ended_at IS NULL) AS open_runs
        """
    }

    /// Puts requests off that cannot be decided here, such as those that this release cannot read
    /// after a downgrade, so that they hold up no others.
    package func putOff(_ requests: [BackgroundTaskRequestID]) async throws(StoreError) {
        _ = try await database.run(
            """
            UPDATE timer SET due_at = clock_timestamp()
                + \(DecisionColumns.lookInterval.milliseconds) * interval '1 ms'
            WHERE subject = ANY (\(requests.map(\.uuid)))
            """
        )
    }

    /// Whether there are subscriptions that want to hear of launches of a client `c`, and each of
    /// them is disabled; NULL if there are none.
    private static let hasOnlyDisabledHearers: Query = """
        SELECT bool_and(x.disabled_at IS NOT NULL) FROM (\(launchHearers("b.disabled_at"))) x
        """

    /// Selects `columns` of the living subscriptions `b` that ask for launches of a client `c`.
    static func launchHearers(_ columns: Query) -> Query {
        """
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = c.tenant_id AND b.client IS NULL
            AND b.session_identifier IS NULL AND \(wantsLaunches)
        UNION ALL
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = c.tenant_id AND b.client = c.identifier
            AND b.session_identifier IS NULL AND \(wantsLaunches)
        """
    }

    /// Whether a subscription `b` asks for `background_task.launch`.
    private static let wantsLaunches: Query = """
        coalesce(b.event_types && ARRAY['background_task.launch', 'background_task.*'], true)
        """

    /// Makes the requests of a tenant due that wait for one of `reasons`.
    ///
    /// - Returns: the statement; it locks nothing, because looking once too often does nothing.
    static func makeDue(waitingFor reasons: [RequestWait.Reason], of tenant: TenantID) -> Query {
        """
        UPDATE timer SET due_at = clock_timestamp()
        WHERE subject = ANY (ARRAY(
                SELECT q.id FROM background_task_request q
                WHERE q.tenant_id = \(tenant.uuid)
                    AND q.waits_for = ANY (\(reasons.map(\.rawValue)))
                    AND q.waits_for NOT IN ('date', 'interval', 'relaunch')))
            AND due_at > clock_timestamp()
        """
    }

    /// Makes a page of all requests due that wait for the network.
    ///
    /// - Returns: the number of these requests; more may wait.
    package func releaseForNetwork() async throws(StoreError) -> Int {
        try await database.run(
            """
            UPDATE timer SET due_at = clock_timestamp()
            WHERE subject = ANY (ARRAY(
                SELECT q.id FROM background_task_request q
                JOIN timer t ON t.subject = q.id AND t.due_at > clock_timestamp()
                WHERE q.waits_for = 'network'
                    AND q.waits_for NOT IN ('date', 'interval', 'relaunch')
                LIMIT \(Self.turnMax)))
            """
        ).affectedCount
    }
}

extension DueRequest: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            id: BackgroundTaskRequestID(try row.decode("id")),
            clientID: try row.decode("client_id"),
            kind: try row.word("kind"),
            launches: try row.decode("launches"),
            reason: try row.word("waits_for"),
            occurrenceAt: try row.decode("occurrence_at"),
            recurrence: try row.recurrence("recurrence"),
            minInterval: try row.decodeIfPresent("min_interval_ms", as: Int64.self)
                .map { .milliseconds($0) },
            requiresNetworkConnectivity: try row.decode("requires_network"),
            requiresExternalPower: try row.decode("requires_power"),
            facts: try Facts(row)
        )
    }
}

extension DueRequest.Facts: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(now: try row.decode("now"))
        lastLaunchedAt = try row.decodeIfPresent("last_launched_at")
        isClientForceQuit = try row.decode("is_force_quit")
        isDisabled = try row.decode("is_disabled")
        isRunning = try row.decode("is_running")
        openRuns = try row.decode("open_runs")
        isUnheard = try row.decode("is_unheard")
        isCapacityIdle = try row.decode("is_idle")
    }
}

extension TimerStore {
    /// Carries out decisions about requests, of which those that no longer apply do nothing: a
    /// request that was replaced, cancelled, or launched by another worker.
    ///
    /// Requests whose clients are locked by others are left for the next call.
    ///
    /// - Returns: the number of those that were carried out.
    package func decide(
        _ decisions: [(request: DueRequest, decision: LaunchDecision)]
    ) async throws(StoreError) -> Int {
        let fence = Int64.random(in: 1...Int64.max)
        let launches = DecisionColumns(decisions.filter { $0.decision.isLaunch })
        let others = DecisionColumns(decisions.filter { !$0.decision.isLaunch })
        let rows = try await database.run([
            Self.lock(decisions.map(\.request), under: fence),
            Self.launch(launches, under: fence), Self.postpone(others, under: fence),
        ])
        return rows[1].count + rows[2].count
    }

    /// Locks the clients of requests, those that nobody else has locked, and marks the requests of
    /// locked clients with the fence.
    ///
    /// It is a statement of its own, so that the next one sees all that was done under the locks.
    private static func lock(_ requests: [DueRequest], under fence: Int64) -> Query {
        """
        WITH locked AS MATERIALIZED (
            SELECT c.id FROM client c WHERE c.id = ANY (\(requests.map(\.clientID)))
            ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE timer t SET fence = \(fence)
        FROM unnest(\(requests.map(\.id.uuid)), \(requests.map(\.clientID)))
            AS x (id, client_id)
        JOIN locked l ON l.id = x.client_id
        WHERE t.subject = ANY (ARRAY[x.id])
        """
    }

    /// The CTEs of decisions whose clients are locked, each with its place among those of its
    /// client.
    private static func taken(_ input: DecisionColumns, under fence: Int64) -> Query {
        """
        input AS MATERIALIZED (
            SELECT x.*, c.lifecycle,
                row_number() OVER (PARTITION BY x.client_id ORDER BY x.occurrence_at, x.id) AS place
            FROM (\(input.rows)) x
            JOIN timer t ON t.subject = ANY (ARRAY[x.id]) AND t.fence = \(fence)
            JOIN client c ON c.id = ANY (ARRAY[x.client_id])
        )
        """
    }

    /// Launches requests of locked clients, whose timers have the fence.
    static func launch(_ input: DecisionColumns, under fence: Int64) -> Query {
        """
        WITH \(taken(input, under: fence)),
        chosen AS (
            UPDATE background_task_request q SET
                launches = q.launches + 1, due_at = i.next_due_at,
                occurrence_at = coalesce(i.next_at, q.occurrence_at),
                waits_for = 'date', waits_since = clock_timestamp()
            FROM input i
            WHERE q.id = ANY (ARRAY[i.id]) AND q.launches = i.launches AND q.due_at IS NOT NULL
                AND i.lifecycle <> 'force_quit'
                AND NOT EXISTS (
                    SELECT 1 FROM background_task_run r
                    WHERE r.client_id = q.client_id AND r.identifier = q.identifier
                        AND r.ended_at IS NULL)
                -- All of them were read before any of them was launched.
                AND i.place <= \(BackgroundTaskRun.openMax) - (
                    SELECT count(*) FROM background_task_run r
                    WHERE r.client_id = q.client_id AND r.ended_at IS NULL)
            RETURNING q.id, q.client_id, q.tenant_id, q.identifier, q.kind, q.due_at,
                q.cancels_transfers, q.completes_with_transfers, q.title, q.subtitle, i.run_id,
                CASE WHEN q.recurrence IS NOT NULL THEN i.occurrence_at END AS occurrence_at
        ),
        opened AS MATERIALIZED (
            SELECT s.*, clock_timestamp() AS launched_at, clock_timestamp()
                    + CASE s.kind WHEN 'app_refresh' THEN n.app_refresh_time_ms
                        ELSE n.processing_time_ms END * interval '1 ms' AS deadline_at,
                coalesce(h.has_expiration_handler, false) AS has_expiration_handler,
                NULL::timestamptz AS accepted_at, false AS is_expiring, false AS is_draining
            FROM chosen s JOIN tenant n ON n.id = ANY (ARRAY[s.tenant_id])
            LEFT JOIN background_task_handler h
                ON h.client_id = s.client_id AND h.identifier = s.identifier
        ),
        happening AS (
            SELECT client_id, row_number() OVER (ORDER BY run_id) AS place,
                'background_task.launch' AS kind, run_id AS subject,
                \(RunStore.details("o", run: "o.run_id")) AS details
            FROM opened o
        ),
        \(EventRuns.recordClientEvents),
        run_row AS (
            INSERT INTO background_task_run (
                id, client_id, tenant_id, request_id, identifier, kind, occurrence_at, launched_at,
                launch_sequence, deadline_at, has_expiration_handler, cancels_transfers,
                completes_with_transfers, title, subtitle)
            SELECT o.run_id, o.client_id, o.tenant_id, o.id, o.identifier, o.kind, o.occurrence_at,
                o.launched_at, n.sequence, o.deadline_at, o.has_expiration_handler,
                o.cancels_transfers, o.completes_with_transfers, o.title, o.subtitle
            FROM opened o JOIN numbered n ON n.subject = o.run_id
        ),
        handler_row AS (
            UPDATE background_task_handler h SET
                last_launched_at = o.launched_at, launched_before_at = h.last_launched_at
            FROM opened o
            WHERE h.client_id = o.client_id AND h.identifier = o.identifier
        ),
        run_timer AS (
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT run_id, 'run', tenant_id, \(RunStore.nextLook("o")) FROM opened o
        ),
        kept AS (
            UPDATE timer t SET due_at = o.due_at FROM opened o
            WHERE t.subject = ANY (ARRAY[o.id]) AND o.due_at IS NOT NULL
        ),
        ended AS (
            DELETE FROM timer WHERE subject = ANY (ARRAY(
                SELECT o.id FROM opened o WHERE o.due_at IS NULL))
        )
        SELECT run_id FROM opened
        """
    }

    /// Lets requests of locked clients wait, or ends those whose last occurrence is left out, as a
    /// launch ends one that has no other.
    private static func postpone(_ input: DecisionColumns, under fence: Int64) -> Query {
        """
        WITH \(taken(input, under: fence)),
        ended AS (
            DELETE FROM background_task_request q USING input i
            WHERE \(isDecided) AND num_nulls(i.look_at) = 1 AND NOT \(hasOpenRun)
            RETURNING q.id
        ),
        moved AS (
            UPDATE background_task_request q SET
                occurrence_at = coalesce(i.next_at, q.occurrence_at),
                due_at = CASE WHEN num_nulls(i.look_at) = 0
                    THEN coalesce(i.next_due_at, q.due_at) END,
                waits_for = coalesce(i.reason, 'date'),
                waits_since = CASE WHEN q.waits_for = coalesce(i.reason, 'date')
                    THEN q.waits_since ELSE clock_timestamp() END
            FROM input i
            WHERE \(isDecided) AND (num_nulls(i.look_at) = 0 OR \(hasOpenRun))
            RETURNING q.id, i.look_at
        ),
        gone AS (
            DELETE FROM timer WHERE subject = ANY (ARRAY(
                SELECT e.id FROM ended e
                UNION ALL
                SELECT m.id FROM moved m WHERE m.look_at IS NULL))
            RETURNING subject
        ),
        kept AS (
            UPDATE timer t SET due_at = m.look_at FROM moved m
            WHERE t.subject = ANY (ARRAY[m.id]) AND m.look_at IS NOT NULL
            RETURNING t.subject
        )
        SELECT subject FROM gone
        UNION ALL
        SELECT subject FROM kept
        """
    }

    /// Whether what was decided in `input` `i` about a request `q` still applies.
    private static let isDecided: Query = """
        q.id = ANY (ARRAY[i.id]) AND q.launches = i.launches AND q.due_at IS NOT NULL
            -- What was decided while the run was open is no decision about its repetition.
            AND (q.waits_for <> 'relaunch' OR q.due_at <= clock_timestamp())
        """

    /// Whether a request `q` has launched a run that is open, and may have to be repeated.
    private static let hasOpenRun: Query = """
        -- Not EXISTS, for which all open runs might be read.
        ((SELECT r.id FROM background_task_run r
            WHERE r.client_id = q.client_id AND r.identifier = q.identifier
                AND r.ended_at IS NULL AND r.request_id = q.id) IS NOT NULL)
        """
}

extension LaunchDecision {
    var isLaunch: Bool {
        if case .launch = self { true } else { false }
    }
}
