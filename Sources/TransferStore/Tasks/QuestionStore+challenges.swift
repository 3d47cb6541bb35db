import Foundation
import Postgres
package import TransferModel

extension QuestionStore {
    /// Accepts a client's credential for the origin that a task waits for: the task continues with
    /// it, and so do all other tasks of its session that wait for that origin or reach it later.
    ///
    /// The first of the others continue at once, the rest with ``AnswerStore/continueAnswered()``.
    ///
    /// A caller that gives a credential has asked ``CredentialStore/canSeal``: without a key, the
    /// secrets are stored as they are.
    package func answerChallenge(
        tenant: TenantID,
        id: TaskID,
        with answer: CredentialAnswer
    ) async throws(StoreError) -> AnswerResult {
        let credential: UUID
        let condition: Query
        let insertion: Query
        switch answer {
        case .named(let id):
            (credential, condition, insertion) = (id.uuid, "true", "")
        case .given(let form, let secrets):
            let use = try await use(of: form, tenant, id)
            credential = use.id
            // Sealed for this origin, the secret does not open for another one that asks by now.
            condition = "q.origin = ANY (\(use.origins.map(\.description)))"
            insertion = try insert(secrets, use)
        }
        let others = UUID.version7()
        let rows = try await database.run([
            ControlStore.lockSession(of: id, tenant),
            """
            WITH target AS MATERIALIZED (
                SELECT q.task_id, q.session_id, q.origin, clock_timestamp() AS answered_at
                FROM asked q JOIN task t ON t.id = ANY (ARRAY[q.task_id])
                WHERE q.task_id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                    AND q.question = 'authentication' AND \(condition)
            ),
            \(insertion)
            replaced AS (
                DELETE FROM credential c USING session_credential s, target x
                WHERE s.session_id = ANY (ARRAY[x.session_id]) AND s.origin = x.origin
                    AND c.id = ANY (ARRAY[s.credential_id]) AND c.name IS NULL
            ),
            answer_row AS (
                INSERT INTO session_credential (session_id, origin, credential_id, updated_at)
                SELECT session_id, origin, \(credential), answered_at FROM target
                ON CONFLICT (session_id, origin) DO UPDATE SET
                    credential_id = excluded.credential_id, updated_at = excluded.updated_at
            ),
            others AS (
                INSERT INTO answer (id, tenant_id, session_id, origin)
                SELECT \(others), \(tenant.uuid), x.session_id, x.origin FROM target x
            ),
            flag AS (
                UPDATE session s SET has_credentials = true FROM target x
                WHERE s.id = ANY (ARRAY[x.session_id]) AND NOT s.has_credentials
            ),
            begun AS (
                DELETE FROM asked q USING target x, task t
                WHERE q.task_id = ANY (ARRAY[x.task_id]) AND t.id = ANY (ARRAY[q.task_id])
                RETURNING q.task_id, q.session_id, t.host_key, t.priority_rank, q.attempt, q.began_at,
                    \(CountStore.state(ofAsked: "q")) AS state
            ),
            \(Self.queueAnswered)
            SELECT task_id FROM begun
            """,
        ])
        if !rows[1].isEmpty {
            await AnswerStore(database).beginContinuing(with: others)
        }
        return try await result(rows[1], tenant, id)
    }

    /// Returns a new credential's use: for the origin that a task of the tenant waits for, if any.
    private func use(
        of form: Credential.Form,
        _ tenant: TenantID,
        _ id: TaskID
    ) async throws(StoreError) -> CredentialUse {
        let rows = try await database.run(
            """
            SELECT q.origin FROM asked q JOIN task t ON t.id = ANY (ARRAY[q.task_id])
            WHERE q.task_id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                AND q.question = 'authentication'
            """
        )
        return CredentialUse(
            id: UUID.version7(),
            tenant: tenant,
            name: nil,
            form: form,
            origins: try rows.map { row throws(StoreError) in
                Origin(stored: try row.decode("origin"))
            }
        )
    }

    /// Returns the CTE that stores a credential for the origin of `target`.
    private func insert(
        _ secrets: Credential.Secrets,
        _ use: CredentialUse
    ) throws(StoreError) -> Query {
        let form = try StoredJSON.text(
            of: use.form,
            database.sealer,
            at: .tokenEndpoint(of: use.id, named: use.name, of: use.tenant)
        )
        let secret = try database.sealer.seal(secrets: secrets, at: .secrets(of: use))
        return """
            given AS (
                INSERT INTO credential (id, tenant_id, kind, form, origins, secret)
                SELECT \(use.id), \(use.tenant.uuid), \(use.form.kind.rawValue),
                    \(form)::jsonb, ARRAY[origin], \(secret)
                FROM target
            ),
            """
    }

    /// Fails a task whose client has no credential for it; the failure is the origin's answer.
    package func refuseChallenge(
        tenant: TenantID,
        id: TaskID
    ) async throws(StoreError) -> AnswerResult {
        let rows = try await database.run([
            ControlStore.lockSession(of: id, tenant),
            """
            WITH target AS (
                SELECT q.task_id FROM asked q JOIN task t ON t.id = ANY (ARRAY[q.task_id])
                WHERE q.task_id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                    AND q.question = 'authentication'
            ),
            \(Self.failAsked)
            """,
            // The failure of the task does not show whether the client answered or not.
            """
            UPDATE session_progress p SET is_pending_told = false FROM task t
            WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                AND p.session_id = ANY (ARRAY[t.session_id]) AND p.is_pending_told
            """,
        ])
        return try await result(rows[1], tenant, id)
    }

    /// Removes the credentials that clients gave for a session, if it has ended.
    static func forgetCredentials(ofEndedSession session: SessionID) -> Query {
        """
        WITH gone AS (
            DELETE FROM session_credential WHERE session_id = (
                SELECT id FROM session
                WHERE id = \(session.uuid) AND invalidated_at IS NOT NULL)
            RETURNING credential_id
        )
        DELETE FROM credential c USING gone g
        WHERE c.id = ANY (ARRAY[g.credential_id]) AND c.name IS NULL
        """
    }
}
