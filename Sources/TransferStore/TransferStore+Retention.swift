import Foundation
import Postgres
package import TransferModel

/// Where a look at all rows of a table goes on, and what it has removed so far.
package struct Sweep<Position: Sendable>: Sendable {
    /// The last row looked at; nil when there is none behind it.
    package let position: Position?
    package let removed: Int
}

/// A row of `client_string_change`.
package struct ClientStringPosition: Sendable {
    let task: TaskID
    let sequence: Int64
}

/// The week of a partition of events, in the database's words.
package struct EventPartition: Sendable {
    /// `event_` and its Monday.
    package let name: String
    let begin: String
    let end: String
}

extension TransferStore {
    /// Weeks made ahead of the running one; each costs every read of events two buffers.
    private static let weeksAhead: Int32 = 2
    /// How long changing the partitions may hold up whoever writes or reads events; then it is given
    /// up and tried again later.
    private static let partitionLockTimeout = "250ms"
    /// Held by the one instance that changes partitions or removes rows: "trfr" in ASCII.
    private static let retentionLockKey: Int32 = 0x7472_6672
    /// Rows looked at, or removed, by one call.
    fileprivate static let sweepMax = 1000

    /// The weeks, from the running one on, that have no partition yet.
    package func missingEventPartitions() async throws(StoreError) -> [EventPartition] {
        let rows = try await run(
            """
            SELECT x.name, to_char(x.week, 'YYYY-MM-DD') AS begin,
                to_char(x.week + interval '7 days', 'YYYY-MM-DD') AS "end"
            FROM (
                SELECT w.week, to_char(w.week, '"event_"YYYYMMDD') AS name
                FROM generate_series(
                    date_trunc('week', now() AT TIME ZONE 'UTC'),
                    date_trunc('week', now() AT TIME ZONE 'UTC')
                        + \(Self.weeksAhead) * interval '7 days',
                    interval '7 days') AS w (week)
            ) x
            WHERE to_regclass(x.name) IS NULL
            ORDER BY x.week
            """
        )
        return try decoding { () throws(PostgresError) in
            try rows.map { row throws(PostgresError) in
                EventPartition(
                    name: try row.decode("name"),
                    begin: try row.decode("begin"),
                    end: try row.decode("end")
                )
            }
        }
    }

    /// Makes a partition; does nothing when another instance has made it meanwhile.
    ///
    /// - Returns: false when events of its week lie in the default partition, where they then stay.
    /// - Throws: ``StoreError/unavailable(_:)`` also when events were written or read all the time.
    package func makeEventPartition(_ partition: EventPartition) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            _ = try await run([
                Self.boundedLocks,
                Self.retentionLock,
                """
                CREATE TABLE IF NOT EXISTS \(identifier: partition.name)
                PARTITION OF event FOR VALUES FROM \(Self.bound(partition.begin))
                TO \(Self.bound(partition.end))
                """,
            ])
            return true
        } catch .defect(let error) where error.sqlState == "23514" {
            return false
        } catch {
            throw error
        }
    }

    /// The partitions whose youngest event is older than `retention`, from the oldest.
    package func expiredEventPartitions(
        olderThan retention: Duration
    ) async throws(StoreError) -> [String] {
        let rows = try await run(
            """
            SELECT x.name FROM (
                SELECT c.relname::text AS name
                FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'event'::regclass AND c.relname ~ '^event_[0-9]{8}$'
            ) x
            WHERE (to_date(substr(x.name, 7), 'YYYYMMDD') + 7)::timestamp AT TIME ZONE 'UTC'
                <= now() - \(retention.milliseconds) * interval '1 ms'
            ORDER BY x.name
            """
        )
        return try decoding { () throws(PostgresError) in
            try rows.map { row throws(PostgresError) in try row.decode("name") }
        }
    }

    /// Removes a partition with its events; does nothing when another instance has removed it.
    ///
    /// - Throws: ``StoreError/unavailable(_:)`` also when events were written or read all the time.
    package func dropEventPartition(_ name: String) async throws(StoreError) {
        _ = try await run([
            Self.boundedLocks,
            Self.retentionLock,
            "DROP TABLE IF EXISTS \(identifier: name)",
        ])
    }

    /// Removes a batch of old events for whose week there was no partition, from the oldest.
    ///
    /// - Returns: how many; none also when another instance is at it.
    package func pruneDefaultEvents(olderThan retention: Duration) async throws(StoreError) -> Int {
        let rows = try await run(
            """
            DELETE FROM event_default WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM event_default
                WHERE occurred_at < now() - \(retention.milliseconds) * interval '1 ms'
                    AND \(Self.isElected)
                ORDER BY occurred_at, sequence LIMIT \(Self.sweepMax)))
            """
        )
        return rows.affectedCount
    }

    /// Looks at a batch of former client strings, and removes those that no event tells any more.
    package func pruneClientStringChanges(
        after position: ClientStringPosition?
    ) async throws(StoreError) -> Sweep<ClientStringPosition> {
        let rows = try await run(
            """
            WITH page AS MATERIALIZED (
                SELECT c.task_id, c.through_sequence,
                    -- One look-up for each row, however many events there are.
                    (SELECT e.sequence FROM event e
                        WHERE e.session_id = coalesce(t.session_id, x.session_id)
                            AND e.sequence <= c.through_sequence
                        LIMIT 1) IS NULL AS is_told_by_none
                FROM client_string_change c LEFT JOIN task t ON t.id = c.task_id
                LEFT JOIN expired_task x ON x.task_id = c.task_id
                WHERE (\(position?.task.uuid)::uuid IS NULL OR (c.task_id, c.through_sequence)
                        > (\(position?.task.uuid), \(position?.sequence)))
                    AND \(Self.isElected)
                ORDER BY c.task_id, c.through_sequence LIMIT \(Self.sweepMax)
            ),
            removed AS (
                DELETE FROM client_string_change c USING page p
                WHERE c.task_id = p.task_id AND c.through_sequence = p.through_sequence
                    AND p.is_told_by_none
                RETURNING 1
            )
            SELECT p.task_id, p.through_sequence,
                (SELECT count(*) FROM removed) AS removed, (SELECT count(*) FROM page) AS looked_at
            FROM page p ORDER BY p.task_id DESC, p.through_sequence DESC LIMIT 1
            """
        )
        return try decoding { () throws(PostgresError) in
            try Sweep(rows) { row throws(PostgresError) in
                ClientStringPosition(
                    task: try row.task("task_id"),
                    sequence: try row.decode("through_sequence")
                )
            }
        }
    }

    /// Looks at a batch of logged deliveries older than `retention`, and removes those whose event is
    /// not kept any more: they can neither be listed nor sent again.
    package func pruneDeliveryLog(
        olderThan retention: Duration,
        after position: DeliveryID?
    ) async throws(StoreError) -> Sweep<DeliveryID> {
        // Identifiers are in the order of time. A clock that is wrong only moves the work.
        let end = UUID.version7(at: Date() - Double(retention.milliseconds) / 1000)
        let rows = try await run(
            """
            WITH page AS MATERIALIZED (
                SELECT l.id,
                    (SELECT e.sequence FROM event e
                        WHERE e.session_id = l.session_id AND e.sequence = l.sequence
                        LIMIT 1) IS NULL AS is_of_none
                FROM delivery_log l
                WHERE (\(position?.uuid)::uuid IS NULL OR l.id > \(position?.uuid))
                    AND l.id < \(end) AND \(Self.isElected)
                ORDER BY l.id LIMIT \(Self.sweepMax)
            ),
            removed AS (
                DELETE FROM delivery_log l USING page p WHERE l.id = p.id AND p.is_of_none
                RETURNING l.id
            ),
            attempt_row AS (
                DELETE FROM delivery_attempt a USING removed r WHERE a.delivery_id = r.id
            )
            SELECT p.id, (SELECT count(*) FROM removed) AS removed,
                (SELECT count(*) FROM page) AS looked_at
            FROM page p ORDER BY p.id DESC LIMIT 1
            """
        )
        return try decoding { () throws(PostgresError) in
            try Sweep(rows) { row throws(PostgresError) in
                DeliveryID(try row.decode("id", as: UUID.self))
            }
        }
    }

    /// The midnight of a day: digits that the database has written, for a statement that defines
    /// something takes no parameters.
    private static func bound(_ day: String) -> Query {
        Query(stringLiteral: "('\(day) 00:00:00+00')")
    }

    private static let boundedLocks: Query = """
        SELECT set_config('lock_timeout', \(partitionLockTimeout), true)
        """
    /// Waits for the instance that is at it, as long as for any other lock.
    private static let retentionLock: Query = """
        SELECT pg_advisory_xact_lock(\(retentionLockKey), hashtext(current_schema()))
        """
    /// True in one instance at a time.
    static let isElected: Query = """
        (SELECT pg_try_advisory_xact_lock(\(retentionLockKey), hashtext(current_schema())))
        """
}

extension Sweep {
    /// From the columns `removed` and `looked_at`, and those of the last row looked at.
    fileprivate init(
        _ rows: Rows,
        _ position: (Row) throws(PostgresError) -> Position
    ) throws(PostgresError) {
        guard let row = rows.first else {
            self.init(position: nil, removed: 0)
            return
        }
        let isFull = try row.decode("looked_at", as: Int64.self) == Int64(TransferStore.sweepMax)
        self.init(
            position: isFull ? try position(row) : nil,
            removed: Int(try row.decode("removed", as: Int64.self))
        )
    }
}
