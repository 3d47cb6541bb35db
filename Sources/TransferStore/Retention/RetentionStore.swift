package import Foundation
import Postgres
package import TransferModel

/// The removal of data that has been kept long enough.
package struct RetentionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension RetentionStore {
    /// The number of rows examined, or removed, by one call.
    static let sweepMax = 1000

    /// Examines a batch of former client strings, and removes those that no event reports any more.
    package func pruneClientStringChanges(
        after position: ClientStringPosition?
    ) async throws(StoreError) -> Sweep<ClientStringPosition> {
        let rows = try await database.run(
            """
            WITH page AS MATERIALIZED (
                SELECT c.task_id, c.through_sequence,
                    -- One look-up for each row, however many events there are.
                    coalesce((\(EventRuns.selectOldest(
                        "r.first_sequence",
                        of: "coalesce(t.session_id, x.session_id)"
                    ))) > c.through_sequence, true) AS is_told_by_none
                FROM client_string_change c LEFT JOIN task t ON t.id = ANY (ARRAY[c.task_id])
                LEFT JOIN expired_task x ON x.task_id = ANY (ARRAY[c.task_id])
                WHERE (\(position?.task.uuid)::uuid IS NULL OR (c.task_id, c.through_sequence)
                        > (\(position?.task.uuid), \(position?.sequence)))
                    AND \(PartitionStore.isElected(for: .clientStrings))
                ORDER BY c.task_id, c.through_sequence LIMIT \(Self.sweepMax)
            ),
            removed AS (
                DELETE FROM client_string_change c USING page p
                WHERE c.task_id = ANY (ARRAY[p.task_id])
                    AND c.through_sequence = ANY (ARRAY[p.through_sequence])
                    AND p.is_told_by_none
                RETURNING 1
            )
            SELECT p.task_id, p.through_sequence,
                (SELECT count(*) FROM removed) AS removed, (SELECT count(*) FROM page) AS looked_at
            FROM page p ORDER BY p.task_id DESC, p.through_sequence DESC LIMIT 1
            """
        )
        return try Sweep(rows) { row throws(StoreError) in
            ClientStringPosition(
                task: try row.task("task_id"),
                sequence: try row.decode("through_sequence")
            )
        }
    }

    /// Examines a batch of logged deliveries older than `retention`, and removes those whose event
    /// is no longer kept: they can neither be listed nor sent again.
    ///
    /// A row that reports expired events is kept as long as an event.
    package func pruneDeliveryLog(
        olderThan retention: Duration,
        after position: DeliveryID?,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Sweep<DeliveryID> {
        // Identifiers are in the order of time. A clock that is wrong only moves the work.
        let end = UUID.version7(at: Date() - Double(retention.milliseconds) / 1000)
        // It may be the row of a message that was tried long before.
        let isOldEnough: Query = """
            (l.state <> 'expired' OR l.died_at < least(now(), \(latest))
                - \(retention.milliseconds) * interval '1 ms')
            """
        let rows = try await database.run(
            """
            WITH page AS MATERIALIZED (
                SELECT l.id,
                    (\(EventRuns.select("1", of: "l.session_id", holding: "l.sequence"))) IS NULL
                    AND \(isOldEnough) AS is_of_none
                FROM delivery_log l
                WHERE (\(position?.uuid)::uuid IS NULL OR l.id > \(position?.uuid))
                    AND l.id < \(end) AND \(PartitionStore.isElected(for: .deliveryLog))
                ORDER BY l.id LIMIT \(Self.sweepMax)
            ),
            removed AS (
                DELETE FROM delivery_log l USING page p
                -- Nor has it expired meanwhile.
                WHERE l.id = ANY (ARRAY[p.id]) AND p.is_of_none AND \(isOldEnough)
                RETURNING 1
            )
            SELECT p.id, (SELECT count(*) FROM removed) AS removed,
                (SELECT count(*) FROM page) AS looked_at
            FROM page p ORDER BY p.id DESC LIMIT 1
            """
        )
        return try Sweep(rows) { row throws(StoreError) in try row.delivery("id") }
    }
}
