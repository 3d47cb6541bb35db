package import Foundation
import Postgres
import TransferModel

extension FleetStore {
    /// The age of a statement from which its wait for a standby counts.
    private static let commitWaitMax: Duration = .seconds(5)

    /// Returns the state that an instance checks all the time; the answer also shows that the
    /// database serves and takes changes, by which health is judged.
    ///
    /// Only workers that have sent a heartbeat within `lease` count. A registration alone does not
    /// count: its worker may never have received the answer.
    ///
    /// - Parameters:
    ///   - lease: the age up to which a heartbeat counts.
    ///   - now: reads this machine's clock.
    /// - Returns: the state, and how far the two clocks differ.
    /// - Throws: an error also if the database takes no changes.
    package func vitals(
        silentFor lease: Duration,
        now: @Sendable () -> Date = { Date() }
    ) async throws(StoreError) -> Vitals {
        let asked = ContinuousClock.now
        let date = now()
        let rows = try await database.run(
            """
            SELECT (
                    SELECT count(*) FROM worker
                    WHERE incarnation > 0 AND heartbeat_at > started_at
                        AND heartbeat_at >= clock_timestamp() - \(WorkerStore.interval(lease))
                ) AS workers,
                (SELECT count(*) FROM pause WHERE \(PauseStore.isAPause)
                    AND tenant_id IS NULL AND host_key IS NULL) AS everything,
                (SELECT count(*) FROM pause WHERE \(PauseStore.isAPause)
                    AND tenant_id IS NOT NULL AND host_key IS NULL) AS tenants,
                (SELECT count(*) FROM pause WHERE \(PauseStore.isAPause)
                    AND host_key IS NOT NULL) AS hosts,
                (SELECT max(coalesce(runs_beside, number)) FROM schema_migration
                    WHERE number > \(Int32(clamping: database.settings.schemaVersion))
                ) AS schema_floor,
                -- Of its own sessions a role sees what they wait for.
                EXISTS (SELECT 1 FROM pg_stat_get_activity(NULL)
                    WHERE wait_event = 'SyncRep'
                        AND query_start < clock_timestamp() - \(WorkerStore.interval(Self.commitWaitMax))
                ) AS are_commits_waiting,
                current_setting('transaction_read_only')::boolean AS is_read_only,
                clock_timestamp() AS date
            """
        )
        let elapsed = ContinuousClock.now - asked
        guard let row = rows.first else { throw StoreError(decoding: "no vitals") }
        // A standby answers too.
        if try row.decode("is_read_only", as: Bool.self) {
            throw StoreError(PostgresError.readOnly)
        }
        return Vitals(
            workers: Int(try row.decode("workers", as: Int64.self)),
            pauses: PauseCounts(
                isEverythingPaused: try row.decode("everything", as: Int64.self) > 0,
                tenants: Int(try row.decode("tenants", as: Int64.self)),
                hosts: Int(try row.decode("hosts", as: Int64.self))
            ),
            schemaFloor: try row.decodeIfPresent("schema_floor", as: Int32.self).map { Int($0) },
            areCommitsWaiting: try row.decode("are_commits_waiting", as: Bool.self),
            clockDifference: Self.difference(
                of: date,
                to: try row.decode("date", as: Date.self),
                within: elapsed
            )
        )
    }

    /// Returns the seconds by which a clock that showed `date` is at least ahead of one that showed
    /// `other` at some moment of the time `elapsed` after that.
    ///
    /// So a slow answer is no difference.
    private static func difference(
        of date: Date,
        to other: Date,
        within elapsed: Duration
    ) -> Double {
        let least = date.timeIntervalSince(other)
        return least > 0 ? least : min(0, least + elapsed / .seconds(1))
    }
}
