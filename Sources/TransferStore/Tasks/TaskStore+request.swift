import Postgres
package import TransferModel

extension TaskStore {
    /// Returns what the client asked for with a task, and what its session adds to that.
    package func request(of task: TaskID) async throws(StoreError) -> TaskRequestRecord? {
        try await database.fetchFirst(
            TaskRequestRecord.self,
            """
            SELECT t.id, t.tenant_id, t.method, t.upload_path, t.upload_is_staged,
                octet_length(t.upload_data)::bigint AS upload_bytes,
                substring(t.upload_data FOR 16) AS upload_start, t.headers, t.options,
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
        self.init(
            method: try row.decodeIfPresent("method"),
            upload: try Upload(row),
            headerNames: try row.headers("headers", at: .headers(of: task, of: tenant))
                .map(\.name),
            options: try row.options("options"),
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
    fileprivate init?(_ row: StoredRow) throws(StoreError) {
        if let path = try row.decodeIfPresent("upload_path", as: String.self) {
            self = .file(path: path)
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
