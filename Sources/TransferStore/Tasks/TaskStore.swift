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
        LEFT JOIN LATERAL (\(RenameRuns.find)) p ON true
        LEFT JOIN LATERAL (\(AttemptRuns.selectAttempt)) a ON true
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
            t.id, t.session_id, t.tenant_id, s.client, s.identifier, t.url, t.client_string,
            t.earliest_begin_at, t.destination_path, t.destination_overwrite, t.priority_rank, t.options,
            t.kind, t.method, coalesce(h.awaits_body, false) AS awaits_body,
            coalesce(o.bytes_sent, a.bytes_sent, 0) AS bytes_sent, a.bytes_to_send,
            a.bytes_per_second, t.created_at, t.revision,
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
        LEFT JOIN LATERAL (\(ReadyRuns.select("r.attempt"))) r ON true
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
        let id = try row.task("id")
        let tenant = try row.tenant("tenant_id")
        let result = try row.result(bytesReceived: bytesReceived)
        self.init(
            id: id,
            session: try row.session("session_id"),
            client: try row.client("client"),
            sessionIdentifier: try row.decode("identifier"),
            state: state,
            url: try row.url("url", at: .url(of: id, of: tenant)),
            clientString: try row.clientString("client_string"),
            earliestBeginAt: try row.decodeIfPresent("earliest_begin_at"),
            destination: try row.destination(),
            priority: TaskPriority(rank: try row.decode("priority_rank")),
            options: try row.options("options", at: .url(of: id, of: tenant)),
            kind: kind,
            method: try row.decodeIfPresent("method") ?? kind.methodDefault,
            awaitsBody: try row.decode("awaits_body"),
            attempt: Int(try row.decode("attempt", as: Int16.self)),
            bytesReceived: bytesReceived,
            bytesExpected: state == .completed
                ? bytesReceived : try row.decodeIfPresent("bytes_expected"),
            bytesSent: bytesSent,
            bytesToSend: state == .completed && kind != .download
                ? result?.bytesToSend ?? bytesSent : try row.decodeIfPresent("bytes_to_send"),
            bytesPerSecond: try row.decodeIfPresent("bytes_per_second"),
            waitsUntil: try row.decodeIfPresent("due_at"),
            failure: try row.failure("failure"),
            result: result,
            part: try row.decodeIfPresent("part_fence").map(Fence.init(rawValue:)),
            resultGoneAt: try row.decodeIfPresent("result_gone_at"),
            createdAt: try row.decode("created_at"),
            revision: try row.decode("revision"),
            finishedAt: finishedAt,
            expiresAt: finishedAt.map { $0 + Double(retentionMS) / 1000 }
        )
    }
}

extension TaskStore {
    /// Returns what the client asked for with a task, and what its session adds to that.
    package func request(of task: TaskID) async throws(StoreError) -> TaskRequestRecord? {
        try await database.fetchFirst(
            TaskRequestRecord.self,
            """
            SELECT t.id, t.tenant_id, t.method, t.upload_path, t.upload_is_staged,
                octet_length(t.upload_data)::bigint AS upload_bytes,
                substring(t.upload_data FOR 16) AS upload_start,
                CASE WHEN t.upload_is_copy THEN t.upload_data END AS upload_copy, t.headers,
                t.options,
                s.client, s.identifier, s.kind AS session_kind, s.additional_headers, s.options AS session_options,
                s.timeout_for_request_ms, s.timeout_for_resource_ms
            FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
            WHERE t.id = \(task.uuid)
            """
        )
    }
}

extension TaskRequestRecord: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        var sessionOptions = try row.options("session_options")
        sessionOptions.timeoutForRequest = try row.milliseconds("timeout_for_request_ms")
        sessionOptions.timeoutForResource = try row.milliseconds("timeout_for_resource_ms")
        let tenant = try row.tenant("tenant_id")
        let task = try row.task("id")
        let client = try row.client("client")
        let session = try row.decode("identifier", as: String.self)
        let upload = try Upload(row, of: task, of: tenant)
        let headers = try row.headers("headers", at: .headers(of: task, of: tenant))
        var contentType: String?
        if case .data = upload {
            contentType = headers.first { $0.name.lowercased() == "content-type" }?.value
        }
        self.init(
            method: try row.decodeIfPresent("method"),
            upload: upload,
            headerNames: headers.map(\.name),
            contentType: contentType,
            options: try row.options("options", at: .url(of: task, of: tenant)),
            sessionKind: try row.word("session_kind"),
            sessionHeaderNames: try row.headers(
                "additional_headers",
                at: .headers(ofSession: session, client, tenant)
            ).map(\.name),
            sessionOptions: sessionOptions
        )
    }
}

extension TaskRequestRecord.Upload {
    fileprivate init?(
        _ row: StoredRow,
        of task: TaskID,
        of tenant: TenantID
    ) throws(StoreError) {
        if let path = try row.decodeIfPresent("upload_path", as: String.self) {
            self = .file(path: path)
        } else if let copy = try row.decodeIfPresent("upload_copy", as: [UInt8].self) {
            let stored = try row.sealer.open(copy, at: .body(of: task, of: tenant))
            self = .copy(try StoredJSON.copySource(stored))
        } else if let count = try row.decodeIfPresent("upload_bytes", as: Int64.self) {
            let start = try row.decode("upload_start", as: [UInt8].self)
            self = .data(count: RowSealer.plainCount(count, startingWith: start))
        } else if try row.decode("upload_is_staged") {
            self = .staged
        } else {
            return nil
        }
    }
}
