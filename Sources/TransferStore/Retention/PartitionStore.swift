package import Foundation
import Postgres

/// The partitions of the logs by time.
package struct PartitionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension PartitionStore {
    /// The number of weeks created ahead of the current one; each costs every read of a log two
    /// buffers.
    private static let weeksAhead: Int32 = 2
    /// The maximum time that a change of the partitions may block writers or readers of the log;
    /// after that it is given up and tried again later.
    private static let partitionLockTimeout = "250ms"

    /// Returns the weeks, from the current one on, that have no partition yet.
    package func missingPartitions(
        of log: PartitionedLog
    ) async throws(StoreError) -> [LogPartition] {
        let rows = try await database.run(
            """
            SELECT x.name, to_char(x.week, 'YYYY-MM-DD') AS week
            FROM (
                SELECT w.week, \(log.rawValue) || to_char(w.week, '_YYYYMMDD') AS name
                FROM generate_series(
                    date_trunc('week', now() AT TIME ZONE 'UTC'),
                    date_trunc('week', now() AT TIME ZONE 'UTC')
                        + \(Self.weeksAhead) * interval '7 days',
                    interval '7 days') AS w (week)
            ) x
            -- Another schema's is another installation's.
            WHERE to_regclass(quote_ident(current_schema()) || '.' || x.name) IS NULL
            ORDER BY x.week
            """
        )
        return try rows.map { row throws(StoreError) in
            LogPartition(
                log: log,
                name: try row.decode("name"),
                week: try row.decode("week")
            )
        }
    }

    /// Creates a partition; does nothing when another instance has created it meanwhile.
    ///
    /// A function of the database does it, with the rights of the schema's owner: a service's role
    /// may define nothing.
    ///
    /// - Returns: false when rows of its week are in the default partition, where they then stay.
    /// - Throws: ``StoreError/unavailable(_:)`` also when the log was written or read all the time.
    package func makePartition(_ partition: LogPartition) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            _ = try await database.run([
                Self.boundedLocks,
                Self.retentionLock,
                """
                SELECT make_log_partition(
                    \(partition.log.rawValue), to_date(\(partition.week), 'YYYY-MM-DD'))
                """,
            ])
            return true
        } catch .defect(let error) where error.sqlState == "23514" {
            return false
        } catch {
            throw error
        }
    }

    /// Returns the partitions whose youngest row is older than `retention`, from the oldest.
    ///
    /// No row is older than at `latest`, however far ahead the database's clock is.
    package func expiredPartitions(
        of log: PartitionedLog,
        olderThan retention: Duration,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> [String] {
        let rows = try await database.run(
            """
            SELECT x.name FROM (
                SELECT c.relname::text AS name
                FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = to_regclass(\(log.rawValue))
                    AND c.relname ~ ('^' || \(log.rawValue) || '_[0-9]{8}$')
            ) x
            WHERE (to_date(right(x.name, 8), 'YYYYMMDD') + 7)::timestamp AT TIME ZONE 'UTC'
                <= least(now(), \(latest)) - \(retention.milliseconds) * interval '1 ms'
            ORDER BY x.name
            """
        )
        return try rows.map { row throws(StoreError) in try row.decode("name") }
    }

    /// Removes a partition with its rows; does nothing when another instance has removed it.
    ///
    /// With a week of events goes that of the feed, so that whoever reads on there is told.
    ///
    /// - Throws: ``StoreError/unavailable(_:)`` also when the log was written or read all the time.
    package func dropPartition(_ name: String) async throws(StoreError) {
        let names = [name.feedPartition, name].compactMap(\.self)
        _ = try await database.run(
            [Self.boundedLocks, Self.retentionLock]
                + names.map {
                    """
                    SELECT drop_log_partition(
                        left(\($0), -9), to_date(right(\($0), 8), 'YYYYMMDD'))
                    """
                }
        )
    }

    /// Removes a batch of old rows whose week had no partition, from the oldest.
    ///
    /// No row is older than at `latest`, however far ahead the database's clock is.
    ///
    /// - Returns: the number of rows removed; zero also when another instance is doing this.
    package func pruneDefaultPartition(
        of log: PartitionedLog,
        olderThan retention: Duration,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            DELETE FROM \(identifier: log.rawValue + "_default") WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM \(identifier: log.rawValue + "_default")
                WHERE \(identifier: log.time)
                        < least(now(), \(latest))
                            - \(retention.milliseconds) * interval '1 ms'
                    AND \(Self.isElected(for: .defaultPartitions))
                ORDER BY \(identifier: log.time) LIMIT \(RetentionStore.sweepMax)))
            """
        )
        return rows.affectedCount
    }

    private static let boundedLocks: Query = """
        SELECT set_config('lock_timeout', \(partitionLockTimeout), true)
        """
    /// Waits for the instance that holds the lock, as long as for any other lock.
    private static let retentionLock: Query = """
        SELECT pg_advisory_xact_lock(
            \(AdvisoryLock.retention.rawValue), hashtext(current_schema()))
        """
    /// Selects whether this instance is elected for a kind of work, as one instance at a time is;
    /// different kinds do not block each other.
    static func isElected(for work: RetentionWork) -> Query {
        """
        (SELECT pg_try_advisory_xact_lock(
            \(AdvisoryLock.retention.rawValue),
            hashtext(current_schema() || \(" " + work.rawValue))))
        """
    }
}

extension String {
    /// The partition of the feed for the week of this partition of the events; nil for one of
    /// another log.
    fileprivate var feedPartition: String? {
        let events = PartitionedLog.events.rawValue
        guard hasPrefix("\(events)_") else { return nil }
        return PartitionedLog.feed.rawValue + dropFirst(events.count)
    }
}
