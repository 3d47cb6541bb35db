import Foundation
import Postgres
package import TransferModel

extension TaskStore {
    /// The maximum number of attempts reported for one task, the newest ones.
    package static let attemptsMax = 200

    /// Returns the ended attempts of a task in the order in which they began; nil when the tenant
    /// has no such task.
    package func attempts(
        tenant: TenantID,
        task: TaskID
    ) async throws(StoreError) -> [AttemptRecord]? {
        try await metrics(tenant: tenant, task: task)?.attempts
    }

    /// Returns the metrics of a task; nil when the tenant has no such task.
    package func metrics(
        tenant: TenantID,
        task: TaskID
    ) async throws(StoreError) -> TaskMetrics? {
        let rows = try await database.run([
            """
            SELECT t.created_at, o.finished_at, least(a.started_at, p.started_at, (
                SELECT min(l.started_at) FROM attempt_log l WHERE l.task_id = t.id)) AS first_at
            FROM task t
            LEFT JOIN outcome o ON o.task_id = t.id
            LEFT JOIN attempt a ON a.task_id = t.id
            LEFT JOIN pending_rename p ON p.task_id = t.id
            WHERE t.id = \(task.uuid) AND t.tenant_id = \(tenant.uuid) AND \(ErasureStore.isNotErased)
            """,
            """
            SELECT number, outcome, started_at, ended_at, bytes_received, resumed_at_offset,
                http_status, failure, redirects, connections, name_lookup_us, connect_us, tls_us,
                first_byte_us, total_us, is_connection_reused, http_version, remote_address,
                fetch_start_us, request_start_us, request_end_us, request_header_bytes,
                request_body_bytes, response_header_bytes, response_body_bytes, remote_port,
                local_address, local_port, bytes_sent
            FROM (
                SELECT * FROM attempt_log WHERE task_id = \(task.uuid)
                ORDER BY started_at DESC, fence DESC LIMIT \(Self.attemptsMax)
            ) newest ORDER BY started_at, fence
            """,
        ])
        guard let row = rows[0].first else { return nil }
        return TaskMetrics(
            createdAt: try row.decode("created_at"),
            beganAt: try row.decodeIfPresent("first_at"),
            finishedAt: try row.decodeIfPresent("finished_at"),
            attempts: try rows[1].map { row throws(StoreError) in try AttemptRecord(row) }
        )
    }
}

extension AttemptRecord {
    fileprivate init(_ row: StoredRow) throws(StoreError) {
        let httpStatus = try row.decodeIfPresent("http_status", as: Int16.self).map(Int.init)
        self.init(
            number: Int(try row.decode("number", as: Int16.self)),
            outcome: try row.word("outcome"),
            startedAt: try row.decode("started_at"),
            endedAt: try row.decode("ended_at"),
            bytesReceived: try row.decode("bytes_received"),
            bytesSent: try row.decode("bytes_sent"),
            resumedAtOffset: try row.decodeIfPresent("resumed_at_offset"),
            httpStatus: httpStatus,
            failure: try row.failure("failure"),
            metrics: try AttemptMetrics(row, httpStatus: httpStatus)
        )
    }
}

extension AttemptMetrics {
    /// Decodes the metrics of an attempt; nil when it was not measured.
    fileprivate init?(_ row: StoredRow, httpStatus: Int?) throws(StoreError) {
        guard let redirects = try row.decodeIfPresent("redirects", as: Int16.self) else {
            return nil
        }
        self.init()
        self.redirects = Int(redirects)
        connections = try row.decodeIfPresent("connections", as: Int16.self).map(Int.init) ?? 1
        self.httpStatus = httpStatus
        nameLookup = try row.microseconds("name_lookup_us")
        connect = try row.microseconds("connect_us")
        tls = try row.microseconds("tls_us")
        firstByte = try row.microseconds("first_byte_us")
        total = try row.microseconds("total_us")
        isConnectionReused = try row.decodeIfPresent("is_connection_reused") ?? false
        httpVersion = try row.decodeIfPresent("http_version")
        remoteAddress = try row.decodeIfPresent("remote_address")
        remotePort = try row.port("remote_port")
        localAddress = try row.decodeIfPresent("local_address")
        localPort = try row.port("local_port")
        fetchStart = try row.microseconds("fetch_start_us")
        requestStart = try row.microseconds("request_start_us")
        requestEnd = try row.microseconds("request_end_us")
        requestHeaderBytes = try row.decodeIfPresent("request_header_bytes") ?? 0
        requestBodyBytes = try row.decodeIfPresent("request_body_bytes") ?? 0
        responseHeaderBytes = try row.decodeIfPresent("response_header_bytes") ?? 0
        responseBodyBytes = try row.decodeIfPresent("response_body_bytes") ?? 0
    }
}

extension StoredRow {
    /// Returns a duration in microseconds; zero for a phase that was not reached.
    fileprivate func microseconds(_ column: String) throws(StoreError) -> Duration {
        .microseconds(try decodeIfPresent(column, as: Int64.self) ?? 0)
    }

    fileprivate func port(_ column: String) throws(StoreError) -> Int? {
        try decodeIfPresent(column, as: Int32.self).map(Int.init)
    }
}
