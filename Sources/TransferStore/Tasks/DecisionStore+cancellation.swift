import Postgres
package import TransferModel

extension DecisionStore {
    /// Cancels a task whose client was asked whether it is to begin, or for a credential, as
    /// `state` says; one that has been answered meanwhile goes on.
    package func cancelTask(
        tenant: TenantID,
        id: TaskID,
        ifAskingIn state: TransferState
    ) async throws(StoreError) -> AnswerResult {
        // An answer removes the row of `asked`, and what it moves the task to is not in the
        // snapshot that still has that row: of an answer and this only one takes.
        let rows = try await database.run(
            """
            WITH target AS (
                SELECT t.id, t.tenant_id, t.session_id, t.generation, t.host_key, t.priority_rank
                FROM asked q JOIN task t ON t.id = q.task_id
                WHERE q.task_id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                    AND (\(CountStore.state(ofAsked: "q")))::text = \(state.rawValue)
            ),
            \(ControlStore.cancelTargets(producing: nil))
            """
        )
        return try await result(rows, tenant, id)
    }
}
