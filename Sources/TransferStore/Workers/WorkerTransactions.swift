import Postgres
import TransferModel

/// The transactions by which workers are given something.
struct WorkerTransactions {
    let database: Database

    /// Returns the query that has a row if a worker is registered, and locks its registration until
    /// the transaction ends, so that no rescue misses what the transaction gives to the worker.
    ///
    /// Nobody else can see who has the lock of a row. So the transaction also takes a lock of the
    /// worker's number, which excludes nobody, and by which a rescue finds who is in its way.
    static func standing(of incarnation: Int32) -> Query {
        """
        SELECT incarnation, pg_advisory_xact_lock_shared(tableoid::integer, incarnation)
        FROM worker WHERE incarnation = \(incarnation)
        FOR KEY SHARE
        """
    }

    /// Ends the transactions of silent workers that only wait for their client, as when a process
    /// was stopped while it was sent the answer to a claim.
    ///
    /// The server ends none of them by itself: its `statement_timeout` does not apply to the
    /// writing of an answer. By its lock each is known to be a transaction of that worker, also
    /// behind a pooler. Those of a role that the caller may not act for are left alone.
    func end(
        ofWorkersSilentFor lease: Duration,
        heardBy incarnation: Int32
    ) async throws(StoreError) {
        let ended = try await database.run(
            """
            SELECT pg_terminate_backend(a.pid) AS is_told
            FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            JOIN pg_roles r ON r.oid = a.usesysid
            WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted
                AND l.classid = 'worker'::regclass
                AND l.database = (
                    SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                AND l.objid::bigint IN (
                    \(WorkerStore.silentWorkers(for: lease, heardBy: incarnation)))
                AND a.wait_event_type = 'Client' AND pg_has_role(r.oid, 'USAGE')
                AND (NOT r.rolsuper
                    OR (SELECT x.rolsuper FROM pg_roles x WHERE x.rolname = current_user))
            """
        )
        guard !ended.isEmpty else { return }
        // Their processes need a moment to give back their locks; otherwise the next rescue finds
        // them gone.
        _ = try await database.run("SELECT pg_sleep(0.1) AS pause")
    }
}
