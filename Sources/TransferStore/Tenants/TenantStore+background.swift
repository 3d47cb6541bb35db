import Postgres
package import TransferModel

extension TenantStore {
    /// Returns the tenant's settings for background work.
    package func backgroundSettings(
        of tenant: TenantID
    ) async throws(StoreError) -> BackgroundSettings {
        try Self.settings(try await database.run(Self.select(tenant)))
    }

    /// Changes the tenant's settings for background work, if `condition` is met; assertions and
    /// runs that have begun keep their time.
    ///
    /// - Returns: the settings after the change; nil if the condition is not met.
    package func changeBackgroundSettings(
        of tenant: TenantID,
        _ change: BackgroundSettingsChange,
        if condition: RevisionCondition = .none
    ) async throws(StoreError) -> BackgroundSettings? {
        let rows = try await database.run([
            """
            UPDATE tenant SET
                background_revision = background_revision + 1,
                permitted_background_tasks = coalesce(
                    \(change.permittedIdentifiers?.terms), permitted_background_tasks),
                are_background_tasks_on = coalesce(
                    \(change.areTasksOn), are_background_tasks_on),
                capacity = coalesce(\(change.capacity?.rawValue), capacity),
                assertion_budget_ms = coalesce(
                    \(change.assertionBudget?.milliseconds), assertion_budget_ms),
                app_refresh_time_ms = coalesce(
                    \(change.appRefreshTime?.milliseconds), app_refresh_time_ms),
                processing_time_ms = coalesce(
                    \(change.processingTime?.milliseconds), processing_time_ms)
            WHERE id = \(tenant.uuid)
                AND \(Fragment.hasRevision("background_revision", condition))
            """,
            TimerStore.makeDue(waitingFor: [.capacity, .disabled], of: tenant),
            Self.select(tenant),
        ])
        return rows[0].affectedCount == 0 ? nil : try Self.settings(rows[2])
    }

    private static func select(_ tenant: TenantID) -> Query {
        """
        SELECT permitted_background_tasks, are_background_tasks_on, capacity, assertion_budget_ms,
            app_refresh_time_ms, processing_time_ms, background_revision
        FROM tenant WHERE id = \(tenant.uuid)
        """
    }

    private static func settings(_ rows: StoredRows) throws(StoreError) -> BackgroundSettings {
        guard let row = rows.first else { throw StoreError(decoding: "no tenant") }
        return BackgroundSettings(
            permittedIdentifiers: PermittedIdentifiers(
                stored: try row.decode("permitted_background_tasks")
            ),
            areTasksOn: try row.decode("are_background_tasks_on"),
            capacity: try row.word("capacity"),
            assertionBudget: try row.milliseconds("assertion_budget_ms"),
            appRefreshTime: try row.milliseconds("app_refresh_time_ms"),
            processingTime: try row.milliseconds("processing_time_ms"),
            revision: try row.decode("background_revision")
        )
    }
}
