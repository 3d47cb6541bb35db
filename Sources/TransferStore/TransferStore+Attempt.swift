import Foundation
import Postgres
package import TransferModel

extension TransferStore {
    /// Attempts of one task that are told, the newest.
    package static let attemptsMax = 200

    /// The attempts of a task that have ended, in the order in which they began; nil when the
    /// tenant has no such task.
    package func attempts(
        tenant: TenantID,
        task: TaskID
    ) async throws(StoreError) -> [AttemptRecord]? {
        let rows = try await run([
            """
            SELECT 1 FROM task t
            WHERE t.id = \(task.uuid) AND t.tenant_id = \(tenant.uuid) AND \(Self.isNotErased)
            """,
            """
            SELECT number, outcome, started_at, ended_at, bytes_received, resumed_at_offset,
                http_status, failure, redirects, name_lookup_us, connect_us, tls_us,
                first_byte_us, total_us, is_connection_reused, http_version, remote_address,
                bytes_sent
            FROM (
                SELECT * FROM attempt_log WHERE task_id = \(task.uuid)
                ORDER BY started_at DESC, fence DESC LIMIT \(Self.attemptsMax)
            ) newest ORDER BY started_at, fence
            """,
        ])
        guard !rows[0].isEmpty else { return nil }
        return try decoding { () throws(PostgresError) in
            try rows[1].map { row throws(PostgresError) in try AttemptRecord(row) }
        }
    }
}

extension AttemptRecord {
    fileprivate init(_ row: Row) throws(PostgresError) {
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
    /// Nil in the row of an attempt that was not measured.
    fileprivate init?(_ row: Row, httpStatus: Int?) throws(PostgresError) {
        guard let redirects = try row.decodeIfPresent("redirects", as: Int16.self) else {
            return nil
        }
        self.init()
        self.redirects = Int(redirects)
        self.httpStatus = httpStatus
        nameLookup = try row.microseconds("name_lookup_us")
        connect = try row.microseconds("connect_us")
        tls = try row.microseconds("tls_us")
        firstByte = try row.microseconds("first_byte_us")
        total = try row.microseconds("total_us")
        isConnectionReused = try row.decodeIfPresent("is_connection_reused") ?? false
        httpVersion = try row.decodeIfPresent("http_version")
        remoteAddress = try row.decodeIfPresent("remote_address")
    }
}

extension Row {
    /// Zero for what was not reached.
    fileprivate func microseconds(_ column: String) throws(PostgresError) -> Duration {
        .microseconds(try decodeIfPresent(column, as: Int64.self) ?? 0)
    }
}
