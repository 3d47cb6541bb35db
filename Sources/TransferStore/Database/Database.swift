package import Foundation
package import Postgres
import Synchronization
import TransferModel

/// The database of the stores, which hold everything transferd keeps; only they contain SQL.
///
/// A verb of a store is one statement, or a few in one implicit transaction. It happens as a whole
/// or not at all, and has been committed durably when it returns.
///
/// It is a reference because every store has one, and requests copy the stores.
package final class Database: Sendable {
    private let pool: ConnectionPool
    let settings: StoreSettings
    /// The query that bounds a transaction's waits for locks by ``StoreSettings/briefLockTimeout``.
    ///
    /// The transaction waits only as long as others can wait for it; its remaining work is found
    /// again or divided.
    let briefLocks: Query
    /// The time of the last refusal for lack of space; nil for none.
    private let lackedSpaceAt = Mutex<ContinuousClock.Instant?>(nil)
    /// The number of tries of a transaction that the server keeps undoing.
    private static let triesMax = 5
    /// The time for which a refusal for lack of space counts; what needs no new space succeeds
    /// meanwhile, and does not prove the end of the lack.
    private static let lackOfSpaceAge: Duration = .seconds(10)

    /// The settings of each connection of the pool.
    ///
    /// Every statement on a hot path reads by an index. The statistics of a queue are always out of
    /// date, and a plan made while a table was almost empty would later read all of it. A bitmap
    /// scan is off too, because it collects all candidates before it returns the first. For the
    /// same reason a plan is made once for each connection and not for each set of values, which
    /// for a claim costs as much as running it.
    ///
    /// A plan that needs a disabled scan has a cost of ten digits. A server that compiles expensive
    /// statements, as it does by default, would compile each execution. And it would divide a
    /// statement among processes that read and sort a whole table, because it takes the unknown
    /// limit of a page for a tenth of all rows.
    package static let serverSettings = [
        "enable_bitmapscan": "off", "enable_seqscan": "off", "jit": "off",
        "max_parallel_workers_per_gather": "0", "plan_cache_mode": "force_generic_plan",
    ]

    package init(pool: ConnectionPool, settings: StoreSettings = StoreSettings()) {
        self.pool = pool
        self.settings = settings
        let timeout = "\(settings.briefLockTimeout.milliseconds)ms"
        briefLocks = "SELECT set_config('lock_timeout', \(timeout), true)"
    }

    /// Seals what is secret in rows, and opens it.
    var sealer: RowSealer { RowSealer(box: settings.secrets) }

    /// Whether the server has refused something in the last seconds because its disk is full.
    package var lacksSpace: Bool {
        lackedSpaceAt.withLock { $0.map { .now - $0 < Self.lackOfSpaceAge } ?? false }
    }

    /// Returns the release of the PostgreSQL server.
    package func serverVersion() async throws(StoreError) -> String {
        let rows = try await run("SELECT current_setting('server_version') AS version")
        return try rows.first?.decode("version") ?? ""
    }

    /// Returns the time by the database's clock, by which everything stored is due or over.
    package func currentTime() async throws(StoreError) -> Date {
        let rows = try await run("SELECT clock_timestamp() AS now")
        guard let row = rows.first else { throw StoreError(decoding: "no time") }
        return try row.decode("now")
    }

    /// Returns the names of the server's settings with which its crash may lose or spoil what was
    /// committed.
    package func lossySettings() async throws(StoreError) -> [String] {
        try await run(
            """
            SELECT name FROM pg_settings
            WHERE name = ANY (ARRAY['fsync', 'full_page_writes']) AND setting = 'off'
            ORDER BY name
            """
        ).map { row throws(StoreError) in try row.decode("name") }
    }

    func run(_ query: Query) async throws(StoreError) -> StoredRows {
        if !AuditSlot.current.isEmpty { return try await run([query])[0] }
        return StoredRows(
            try await repeating { () throws(PostgresError) in try await pool.execute(query) },
            sealer
        )
    }

    /// Returns the values of the rows of a query.
    func fetch<Value: RowDecodable>(
        _ type: Value.Type,
        _ query: Query
    ) async throws(StoreError) -> [Value] {
        try await run(query).map { row throws(StoreError) in try Value(row) }
    }

    /// Returns the value of the first row of a query; nil if there are no rows.
    func fetchFirst<Value: RowDecodable>(
        _ type: Value.Type,
        _ query: Query
    ) async throws(StoreError) -> Value? {
        try await run(query).first.map { row throws(StoreError) in try Value(row) }
    }

    /// Runs `queries` as one transaction, which takes the audit entries of the task along if it
    /// changes something.
    func run(_ queries: [Query]) async throws(StoreError) -> [StoredRows] {
        let slots = AuditSlot.current
        guard slots.contains(where: { !$0.isRecorded }), queries.contains(where: \.changesRows)
        else { return try await transaction(queries) }
        let entries = slots.compactMap { slot in slot.take().map { (slot, $0) } }
        guard !entries.isEmpty else { return try await transaction(queries) }
        var isStored = false
        defer { if !isStored { for (slot, _) in entries { slot.giveBack() } } }
        let rows = try await transaction(
            queries + [AuditStore.insertWithChange(entries.map(\.1))]
        )
        isStored = (rows.last?.affectedCount ?? 0) > 0
        return rows.dropLast()
    }

    private func transaction(_ queries: [Query]) async throws(StoreError) -> [StoredRows] {
        try await repeating { () throws(PostgresError) in try await pool.execute(queries) }
            .map { StoredRows($0, sealer) }
    }

    /// A setting of one transaction.
    enum TransactionSetting {
        /// The commit does not wait for the disk; only for changes that may be lost in a power cut.
        case unsynced
        /// The statement is planned for its actual values; for batches joined with a table, whose
        /// size a generic plan assumes to be ten.
        case plannedAnew

        var query: Query {
            switch self {
            case .unsynced: "SELECT set_config('synchronous_commit', 'off', true)"
            case .plannedAnew: "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)"
            }
        }
    }

    /// Runs `query` in a transaction of its own with `settings`.
    func run(
        _ settings: [TransactionSetting],
        _ query: Query
    ) async throws(StoreError) -> StoredRows {
        try await run(settings.map(\.query) + [query])[settings.count]
    }

    /// Runs a transaction, and repeats it if the server undid it in favour of another, as after a
    /// deadlock.
    private func repeating<Result>(
        _ transaction: () async throws(PostgresError) -> Result
    ) async throws(StoreError) -> Result {
        var tries = 1
        while true {
            do throws(PostgresError) {
                return try await transaction()
            } catch  where error.isUndone && tries < Self.triesMax {
                tries += 1
            } catch {
                if error.lacksSpace { lackedSpaceAt.withLock { $0 = .now } }
                throw StoreError(error)
            }
        }
    }
}
