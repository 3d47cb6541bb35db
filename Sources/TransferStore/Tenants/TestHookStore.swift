import Foundation
import Postgres
package import TransferModel

/// What tests of clients do to the tasks of a tenant that was made for them.
package struct TestHookStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension TestHookStore {
    /// The result of a wish for a failure.
    package enum FailureResult: Sendable {
        case recorded
        /// The task is completed, and will have no attempt.
        case completed
        case unknownTask
    }

    /// Makes the moment come until which a task waits, for whatever it is; one that does not wait
    /// is left as it is.
    ///
    /// What follows is what follows when the time is over, and whoever carries it out looks for
    /// that often enough.
    package func endWait(of id: TaskID, tenant: TenantID) async throws(StoreError) {
        _ = try await database.run(
            """
            WITH target AS (
                SELECT t.id FROM task t WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
            ),
            asked_row AS (
                UPDATE asked q SET until = clock_timestamp() FROM target t
                WHERE q.task_id = ANY (ARRAY[t.id]) AND q.until > clock_timestamp()
            )
            UPDATE delayed d SET due_at = clock_timestamp() FROM target t
            WHERE d.task_id = ANY (ARRAY[t.id]) AND d.due_at > clock_timestamp()
            """
        )
    }

    /// Records the failure with which the next attempt of a task ends; a later wish replaces it.
    package func failNextAttempt(
        of id: TaskID,
        tenant: TenantID,
        with failure: TestFailure
    ) async throws(StoreError) -> FailureResult {
        let rows = try await database.run(
            """
            WITH target AS MATERIALIZED (
                SELECT t.id, EXISTS (SELECT 1 FROM outcome o
                    WHERE o.task_id = t.id AND o.state = 'completed') AS is_completed
                FROM task t WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                -- A removal of the task removes this, too, or comes first.
                FOR KEY SHARE OF t
            ),
            failure_row AS (
                INSERT INTO test_failure (task_id, code, http_status)
                SELECT t.id, \(failure.code.rawValue), \(failure.httpStatus.map { Int16($0) })
                FROM target t WHERE NOT t.is_completed
                ON CONFLICT (task_id)
                DO UPDATE SET code = excluded.code, http_status = excluded.http_status
            )
            SELECT is_completed FROM target
            """
        )
        guard let row = rows.first else { return .unknownTask }
        return try row.decode("is_completed") ? .completed : .recorded
    }

    /// Takes the failures with which the attempts of claims are to end.
    package func takeFailures(
        of claims: [TaskClaim]
    ) async throws(StoreError) -> [TaskID: TestFailure] {
        let rows = try await database.run(
            """
            DELETE FROM test_failure WHERE task_id = ANY (\(claims.map(\.task.uuid)))
            RETURNING task_id, code, http_status
            """
        )
        var failures: [TaskID: TestFailure] = [:]
        for row in rows {
            failures[try row.task("task_id")] = TestFailure(
                code: try row.word("code"),
                httpStatus: try row.decodeIfPresent("http_status", as: Int16.self).map(Int.init)
            )
        }
        return failures
    }

    /// Returns the statement that removes what was wanted of tasks that are removed before it, in
    /// the same transaction.
    static func forgetFailures(of tasks: [UUID]) -> Query {
        "DELETE FROM test_failure WHERE task_id = ANY (\(tasks))"
    }
}
