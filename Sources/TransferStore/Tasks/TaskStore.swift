import Foundation
import Postgres
package import TransferModel

/// The reading of tasks and their attempts.
package struct TaskStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension TaskStore {
    /// Whether the tenant had such a task that is no longer kept; known for as long as events
    /// mention it.
    package func isExpired(tenant: TenantID, id: TaskID) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            """
            SELECT 1 FROM expired_task t
            WHERE t.task_id = \(id.uuid) AND t.tenant_id = \(tenant.uuid) AND \(ErasureStore.isNotErased)
            """
        )
        return !rows.isEmpty
    }

    /// Returns the tenant's task `id`.
    package func task(tenant: TenantID, id: TaskID) async throws(StoreError) -> TransferTask? {
        let rows = try await database.run(
            """
            \(Self.selectTask)
            WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid) AND \(ErasureStore.isNotErased)
            """
        )
        guard let row = rows.first else { return nil }
        return try TransferTask(row, keptFor: database.settings.resultRetention)
    }

    /// Returns the origin's response body of a completed upload or data task; nil when there was
    /// none.
    package func responseBody(
        tenant: TenantID,
        task: TaskID
    ) async throws(StoreError) -> [UInt8]? {
        let rows = try await database.run(
            """
            SELECT o.response_body FROM task t JOIN outcome o ON o.task_id = ANY (ARRAY[t.id])
            WHERE t.id = \(task.uuid) AND t.tenant_id = \(tenant.uuid) AND \(ErasureStore.isNotErased)
            """
        )
        return try rows.first?.decodeIfPresent("response_body")
    }

    /// Returns a page of a session's tasks in order of submission, all or only those in `state`;
    /// nil when the tenant has no such living session.
    ///
    /// If a state's table is not in the order of sessions, only a limited number of tasks is
    /// examined: a page may then hold fewer than `limit` tasks, or none, although more follow. It
    /// also ends early when its client strings are large: see ``pageBytesMax``.
    package func tasks(
        tenant: TenantID,
        client: ClientID = .default,
        sessionIdentifier: String,
        state: TransferState?,
        after: TaskID?,
        limit: Int
    ) async throws(StoreError) -> TaskPage? {
        let found = try await SessionStore(database).sessionOrEnded(
            tenant: tenant,
            client: client,
            identifier: sessionIdentifier
        )
        guard let session = found else { return nil }
        let page = Self.page(
            of: session.id,
            in: state,
            after: after?.uuid ?? UUID.zero,
            // The extra row shows whether there is another page.
            limit: limit + 1
        )
        let tasks: Query = """
            SELECT r.* FROM page
            CROSS JOIN LATERAL (\(Self.selectTask) WHERE t.id = page.task_id LIMIT 1) r
            """
        let rows = try await database.run(
            """
            WITH \(page)
            SELECT x.looked_through, r.*
            FROM (SELECT CASE WHEN (SELECT count(*) FROM page) <= \(limit)
                THEN \(Self.selectEnd(ofLook: Self.lookMax)) END AS looked_through) x
            LEFT JOIN (\(PageSize.cut(tasks, orderedBy: "id", at: PageSize.pageBytesMax))) r ON true
            ORDER BY r.id
            """
        )
        return try TaskPage(rows, limit: limit, keptFor: database.settings.resultRetention)
    }

    /// The number of tasks examined when searching for those in one state.
    private static let lookMax = 5000

    /// Selects the first tasks `(id)` of a session after one of them, at most `limit`.
    ///
    /// The range from there to the session's end is read in the order of its index: with an
    /// equality, a plan may scan the tasks of all sessions in the order of their keys.
    static func selectTasks(of session: SessionID, after: UUID, limit: Int) -> Query {
        """
        SELECT t.id FROM task t
        WHERE (t.session_id, t.id) > (\(session.uuid), \(after))
            AND t.session_id <= \(session.uuid)
        ORDER BY t.session_id, t.id LIMIT \(limit)
        """
    }

    /// Selects the first ended tasks `(id)` of a session in one state after one of them, at most
    /// `limit`; none if that state is nil.
    static func selectEnded(
        of session: SessionID,
        in state: TransferState?,
        after: UUID,
        limit: Int
    ) -> Query {
        """
        SELECT x.task_id AS id
        FROM (
            SELECT o.task_id, o.state FROM outcome o
            WHERE (o.session_id, o.state, o.task_id)
                > (\(session.uuid), \(state?.rawValue)::text::task_state, \(after))
                AND o.session_id <= \(session.uuid)
            ORDER BY o.session_id, o.state, o.task_id LIMIT \(limit)
        ) x
        WHERE x.state::text = \(state?.rawValue)
        """
    }

    /// Selects the last task of `look` if it has `count` tasks, so that there may be more after it;
    /// NULL otherwise.
    static func selectEnd(ofLook count: Int) -> Query {
        "(SELECT l.id FROM look l ORDER BY l.id OFFSET \(count - 1) LIMIT 1)"
    }

    /// Offers `page(task_id)`, from the table that holds the tasks of that state, and `look(id)`:
    /// the tasks that were examined, if that table is not in the order of sessions.
    private static func page(
        of session: SessionID,
        in state: TransferState?,
        after: UUID,
        limit: Int
    ) -> Query {
        let key = session.uuid
        let nothing: Query = "look AS (SELECT NULL::uuid AS id WHERE false)"
        switch state {
        case nil:
            return """
                \(nothing),
                page AS MATERIALIZED (
                    SELECT id AS task_id
                    FROM (\(selectTasks(of: session, after: after, limit: limit))) t
                )
                """
        case .completed, .failed, .cancelled:
            return """
                \(nothing),
                page AS MATERIALIZED (
                    SELECT id AS task_id
                    FROM (\(selectEnded(of: session, in: state, after: after, limit: limit))) t
                )
                """
        case .running:
            // Both tables hold at most the slots of the fleet.
            return """
                \(nothing),
                page AS MATERIALIZED (
                    SELECT task_id FROM (
                        SELECT task_id, session_id FROM attempt
                        UNION ALL SELECT task_id, session_id FROM pending_rename
                    ) running
                    WHERE session_id = \(key) AND task_id > \(after)
                    ORDER BY task_id LIMIT \(limit)
                )
                """
        case .waitingToBegin, .waitingForAuthentication:
            return """
                look AS MATERIALIZED (
                    SELECT q.task_id AS id, \(CountStore.state(ofAsked: "q")) AS state
                    FROM asked q
                    WHERE (q.session_id, q.task_id) > (\(key), \(after))
                        AND q.session_id <= \(key)
                    ORDER BY q.session_id, q.task_id LIMIT \(lookMax)
                ),
                page AS MATERIALIZED (
                    SELECT l.id AS task_id FROM look l WHERE l.state::text = \(state?.rawValue)
                    ORDER BY l.id LIMIT \(limit)
                )
                """
        case .suspended:
            return page(
                of: session,
                after: after,
                limit: limit,
                """
                SELECT 1 FROM held h WHERE h.task_id = l.id
                """
            )
        case .scheduled, .waitingForRetry, .waitingForConnectivity:
            return page(
                of: session,
                after: after,
                limit: limit,
                """
                SELECT 1 FROM delayed d WHERE d.task_id = l.id
                    AND (\(CountStore.state(ofDelayed: "d")))::text = \(state?.rawValue)
                """
            )
        case .queued:
            return page(
                of: session,
                after: after,
                limit: limit,
                """
                SELECT 1
                FROM (SELECT t.host_key, t.priority_rank FROM task t WHERE t.id = l.id LIMIT 1) t
                CROSS JOIN LATERAL (
                    SELECT 1 FROM ready r WHERE r.host_key = t.host_key AND r.session_id = \(key)
                        AND r.priority_rank = t.priority_rank AND r.task_id = l.id LIMIT 1
                ) r
                """
            )
        }
    }

    /// Offers `look` and the `page` of its tasks `l` for which `condition` selects something.
    ///
    /// A nested loop keeps the order of the look, and ends with the page.
    private static func page(
        of session: SessionID,
        after: UUID,
        limit: Int,
        _ condition: Query
    ) -> Query {
        """
        look AS MATERIALIZED (\(selectTasks(of: session, after: after, limit: lookMax))),
        page AS MATERIALIZED (
            SELECT l.id AS task_id
            FROM look l CROSS JOIN LATERAL (\(condition) LIMIT 1) s
            LIMIT \(limit)
        )
        """
    }

    /// Returns the states of tasks of any tenant; tasks that do not exist are left out.
    package func states(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TransferState] {
        let rows = try await database.run(
            """
            SELECT t.id, \(Self.selectState) FROM task t \(Self.joinPlaces)
            WHERE t.id = ANY (\(tasks.map(\.uuid)))
            """
        )
        var states: [TaskID: TransferState] = [:]
        for row in rows { states[try row.task("id")] = try row.word("state") }
        return states
    }

    /// The state of a task `t` from the rows that ``joinPlaces`` has found for it.
    private static let selectState: Query = "\(stateOfPlaces) AS state"

    /// The state, as text, of a task from the rows that ``joinPlaces`` has found for it.
    static let stateOfPlaces: Query = """
        CASE
            WHEN o.task_id IS NOT NULL THEN o.state::text
            WHEN a.task_id IS NOT NULL OR p.task_id IS NOT NULL THEN 'running'
            WHEN q.task_id IS NOT NULL THEN (\(CountStore.state(ofAsked: "q")))::text
            WHEN d.task_id IS NOT NULL THEN (\(CountStore.state(ofDelayed: "d")))::text
            WHEN h.task_id IS NOT NULL THEN 'suspended'
            ELSE 'queued'
        END
        """

    static let joinPlaces: Query = """
        LEFT JOIN outcome o ON o.task_id = ANY (ARRAY[t.id])
        LEFT JOIN pending_rename p ON p.task_id = ANY (ARRAY[t.id])
        LEFT JOIN attempt a ON a.task_id = ANY (ARRAY[t.id])
        LEFT JOIN delayed d ON d.task_id = ANY (ARRAY[t.id])
        LEFT JOIN held h ON h.task_id = ANY (ARRAY[t.id])
        LEFT JOIN asked q ON q.task_id = ANY (ARRAY[t.id])
        """

    /// Reads a task and its state from whichever table holds it, in one snapshot and so never
    /// between two states.
    ///
    /// When several tasks are read, each is read by itself, `LATERAL` and with a `LIMIT`: among so
    /// many joins the planner does not look for the order in which the tasks come first.
    static let selectTask: Query = """
        SELECT
            t.id, t.session_id, s.client, s.identifier, t.url, t.client_string, t.earliest_begin_at,
            t.destination_path, t.destination_overwrite, t.priority_rank, t.options,
            t.kind, t.method, coalesce(h.awaits_body, false) AS awaits_body,
            coalesce(o.bytes_sent, a.bytes_sent, 0) AS bytes_sent, a.bytes_to_send,
            a.bytes_per_second, t.created_at,
            \(selectState),
            coalesce(o.attempt, p.number, a.number, d.attempt, h.attempt, q.attempt, r.attempt,
                0::smallint)
                AS attempt,
            coalesce(o.bytes_received, p.bytes_received, a.bytes_received, x.bytes_durable, 0)
                AS bytes_received,
            coalesce(a.bytes_expected, x.bytes_total) AS bytes_expected,
            coalesce(d.due_at, q.until) AS due_at,
            coalesce(o.failure, d.failure,
                CASE WHEN q.question = 'authentication' THEN q.failure END) AS failure,
            o.http_status, o.response_head, o.part_fence, o.result_gone_at, o.finished_at, s.result_retention_ms
        FROM task t
        JOIN session s ON s.id = ANY (ARRAY[t.session_id])
        \(joinPlaces)
        LEFT JOIN ready r ON r.host_key = ANY (ARRAY[t.host_key])
            AND r.session_id = ANY (ARRAY[t.session_id])
            AND r.priority_rank = ANY (ARRAY[t.priority_rank])
            AND r.task_id = ANY (ARRAY[t.id])
        LEFT JOIN partial x ON x.task_id = ANY (ARRAY[t.id])
        """
}

extension UUID {
    /// The identifier before all that are ever assigned.
    static let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    /// The identifier after all that are ever assigned.
    static let last = UUID(
        uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255)
    )
}

extension TransferTask {
    /// Decodes a task; `retention` applies when its session sets none.
    init(_ row: StoredRow, keptFor retention: Duration) throws(StoreError) {
        let finishedAt = try row.decodeIfPresent("finished_at", as: Date.self)
        let retentionMS =
            try row.decodeIfPresent("result_retention_ms", as: Int64.self) ?? retention.milliseconds
        let state = try row.word("state", as: TransferState.self)
        let bytesReceived = try row.decode("bytes_received", as: Int64.self)
        let bytesSent = try row.decode("bytes_sent", as: Int64.self)
        let kind = try row.word("kind", as: TransferRequest.Kind.self)
        self.init(
            id: try row.task("id"),
            session: try row.session("session_id"),
            client: try row.client("client"),
            sessionIdentifier: try row.decode("identifier"),
            state: state,
            url: try row.decode("url"),
            clientString: try row.clientString("client_string"),
            earliestBeginAt: try row.decodeIfPresent("earliest_begin_at"),
            destination: try row.destination(),
            priority: TaskPriority(rank: try row.decode("priority_rank")),
            options: try row.options("options"),
            kind: kind,
            method: try row.decodeIfPresent("method") ?? kind.methodDefault,
            awaitsBody: try row.decode("awaits_body"),
            attempt: Int(try row.decode("attempt", as: Int16.self)),
            bytesReceived: bytesReceived,
            bytesExpected: state == .completed
                ? bytesReceived : try row.decodeIfPresent("bytes_expected"),
            bytesSent: bytesSent,
            bytesToSend: state == .completed && kind == .upload
                ? bytesSent : try row.decodeIfPresent("bytes_to_send"),
            bytesPerSecond: try row.decodeIfPresent("bytes_per_second"),
            waitsUntil: try row.decodeIfPresent("due_at"),
            failure: try row.failure("failure"),
            result: try row.result(bytesReceived: bytesReceived),
            part: try row.decodeIfPresent("part_fence").map(Fence.init(rawValue:)),
            resultGoneAt: try row.decodeIfPresent("result_gone_at"),
            createdAt: try row.decode("created_at"),
            finishedAt: finishedAt,
            expiresAt: finishedAt.map { $0 + Double(retentionMS) / 1000 }
        )
    }
}
