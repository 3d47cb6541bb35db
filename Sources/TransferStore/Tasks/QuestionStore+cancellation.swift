import Postgres
package import TransferModel

extension QuestionStore {
    /// Cancels a task that waits, as `state` says, for its client's decision to begin or for a
    /// credential; a task that has been answered meanwhile continues.
    package func cancelTask(
        tenant: TenantID,
        id: TaskID,
        ifAskingIn state: TransferState
    ) async throws(StoreError) -> AnswerResult {
        // An answer removes the row of `asked`, and the row to which it moves the task is not in
        // the snapshot that still has the former: either the answer or this takes effect, not both.
        let rows = try await database.run([
            ControlStore.lockSession(of: id, tenant),
            """
            WITH target AS (
                SELECT t.id, t.tenant_id, t.session_id, t.generation, t.host_key, t.priority_rank
                FROM asked q JOIN task t ON t.id = q.task_id
                WHERE q.task_id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                    AND (\(CountStore.state(ofAsked: "q")))::text = \(state.rawValue)
            ),
            \(ControlStore.cancelTargets(producing: nil))
            SELECT task_id FROM gone
            """,
        ])
        return try await result(rows[1], tenant, id)
    }
}
