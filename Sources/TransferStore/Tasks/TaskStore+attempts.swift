import Foundation
import Postgres
package import TransferModel

extension TaskStore {
    /// The maximum number of attempts reported for one task, the newest ones.
    package static let attemptsMax = 200

    /// The bytes that the attempt which ended a task has received itself.
    static let ownBytes: Query = "greatest(0, bytes_received - coalesce(resumed_at_offset, 0))"

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
            SELECT t.created_at, o.finished_at, least(a.started_at, p.started_at, o.started_at, (
                SELECT min(l.started_at) FROM attempt_log l WHERE l.task_id = t.id)) AS first_at
            FROM task t
            LEFT JOIN outcome o ON o.task_id = t.id
            LEFT JOIN LATERAL (\(AttemptRuns.selectAttempt)) a ON true
            LEFT JOIN LATERAL (\(RenameRuns.find)) p ON true
            WHERE t.id = \(task.uuid) AND t.tenant_id = \(tenant.uuid) AND \(ErasureStore.isNotErased)
            """,
            """
            SELECT * FROM (
                SELECT fence, number, outcome, started_at, ended_at, bytes_received,
                    resumed_at_offset, NULL::smallint AS http_status, failure, bytes_sent,
                    measurements
                FROM attempt_log WHERE task_id = \(task.uuid)
                UNION ALL
                SELECT fence, attempt, state::text, started_at, finished_at, \(Self.ownBytes),
                    resumed_at_offset, http_status, failure, bytes_sent, measurements
                FROM outcome WHERE task_id = \(task.uuid) AND fence IS NOT NULL
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
        let metrics = try row.metrics()
        let httpStatus = try row.decodeIfPresent("http_status", as: Int16.self).map(Int.init)
        self.init(
            number: Int(try row.decode("number", as: Int16.self)),
            outcome: try row.word("outcome"),
            startedAt: try row.decode("started_at"),
            endedAt: try row.decode("ended_at"),
            bytesReceived: try row.decode("bytes_received"),
            bytesSent: try row.decode("bytes_sent"),
            resumedAtOffset: try row.decodeIfPresent("resumed_at_offset"),
            httpStatus: metrics?.httpStatus ?? httpStatus,
            failure: try row.failure("failure"),
            metrics: metrics
        )
    }
}
