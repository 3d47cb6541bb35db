import Postgres
import TransferModel

extension SubmissionStore {
    /// Why a session may have refused tasks; asked only then.
    func intake(
        _ tenant: TenantID,
        _ client: ClientID,
        _ identifier: String
    ) async throws(StoreError) -> SessionIntake {
        let rows = try await database.run(
            """
            SELECT p.is_force_quit, p.is_finishing
            FROM session s JOIN session_progress p ON p.session_id = s.id
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                AND s.identifier = \(identifier) COLLATE "C" AND s.invalidated_at IS NULL
            """
        )
        return try Database.decoding { () throws(PostgresError) in
            guard let row = rows.first else { return .absent }
            if try row.decode("is_force_quit") { return .forceQuit }
            return try row.decode("is_finishing") ? .finishing : .open
        }
    }
}
