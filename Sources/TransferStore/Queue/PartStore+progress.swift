import Foundation
import Postgres
package import TransferModel

extension PartStore {
    /// Stores the progress of running attempts, and the part files from which the next attempts may
    /// continue; stale fences change nothing.
    ///
    /// - Returns: whether events were written, for the progress that is to be reported.
    @discardableResult
    package func recordProgress(_ progress: [AttemptProgress]) async throws(StoreError) -> Bool {
        // An update may lock the attempts in the order of its argument.
        let progress = progress.sorted { $0.task.uuid.precedes($1.task.uuid) }
        let checkpoints = progress.compactMap { progress in
            progress.checkpoint.map { (task: progress.task, fence: progress.fence, partial: $0) }
        }
        // Checkpoints come first, so that a reader of the progress can rely on the bytes.
        try await recordCheckpoints(checkpoints)
        guard progress.contains(where: \.isTold) else {
            // Nothing depends on this progress, and the next follows within a second.
            _ = try await database.run([
                Database.TransactionSetting.unsynced.query, Self.separate(progress),
                Database.TransactionSetting.plannedAnew.query, Self.update(progress),
            ])
            return false
        }
        let rows = try await database.run([
            Self.separate(progress),
            Database.TransactionSetting.plannedAnew.query, Self.tell(progress),
        ])
        return !rows[2].isEmpty
    }

    private static func separate(_ progress: [AttemptProgress]) -> Query {
        AttemptRuns.separate(progress.map(\.task), progress.map(\.fence))
    }

    private static func update(_ progress: [AttemptProgress]) -> Query {
        """
        UPDATE attempt a SET
            bytes_received = i.received, bytes_expected = i.expected,
            bytes_sent = i.sent, bytes_to_send = i.to_send, bytes_per_second = i.per_second
        FROM unnest(
            \(progress.map(\.task.uuid)), \(progress.map(\.fence.rawValue)),
            \(progress.map(\.bytesReceived)), \(progress.map(\.bytesExpected)),
            \(progress.map(\.bytesSent)), \(progress.map(\.bytesToSend)),
            \(progress.map(\.bytesPerSecond)), \(progress.map(\.isTold))
        ) AS i (task_id, fence, received, expected, sent, to_send, per_second, is_told)
        WHERE a.task_id = ANY (\(progress.map(\.task.uuid)))
            AND a.task_id = i.task_id AND a.fence = i.fence
        """
    }

    /// Returns the update with an event for each attempt whose progress is to be reported.
    ///
    /// An attempt's row exists only while its task runs, and the transaction that ends it waits for
    /// this one. So the event never follows the end of its task.
    private static func tell(_ progress: [AttemptProgress]) -> Query {
        """
        WITH moved AS (
            \(update(progress))
            RETURNING a.task_id, a.session_id, a.number, a.bytes_received, a.bytes_expected,
                a.bytes_sent, a.bytes_to_send, i.is_told
        ),
        told AS (
            SELECT *, row_number() OVER (PARTITION BY session_id ORDER BY task_id) AS place
            FROM moved WHERE is_told
        ),
        -- Locked in the order of every statement, as when a task ends.
        locked AS MATERIALIZED (
            SELECT p.session_id FROM session_progress p
            WHERE p.session_id = ANY (ARRAY(SELECT session_id FROM told))
            ORDER BY p.session_id FOR UPDATE OF p
        ),
        counter AS (
            UPDATE session_progress p SET last_sequence = p.last_sequence + c.events
            FROM (SELECT session_id, count(*) AS events FROM told GROUP BY session_id) c
            JOIN locked USING (session_id)
            WHERE p.session_id = ANY (ARRAY[c.session_id])
            RETURNING p.session_id, p.generation, p.last_sequence - c.events AS base,
                -- The clock is read under the lock, so that time increases with the sequence.
                clock_timestamp() AS occurred_at
        ),
        event_row AS (
            INSERT INTO event_run (
                session_id, last_sequence, first_sequence, kind, generation, occurred_at, task_ids,
                task_state, attempts, bytes_received, bytes_expected, bytes_sent, bytes_to_send)
            SELECT c.session_id, c.base + max(t.place), c.base + min(t.place), 'task.progress',
                c.generation, c.occurred_at, array_agg(t.task_id ORDER BY t.place), 'running',
                array_agg(t.number ORDER BY t.place), array_agg(t.bytes_received ORDER BY t.place),
                array_agg(t.bytes_expected ORDER BY t.place),
                array_agg(t.bytes_sent ORDER BY t.place),
                array_agg(t.bytes_to_send ORDER BY t.place)
            FROM told t JOIN counter c USING (session_id)
            GROUP BY c.session_id, c.base, c.generation, c.occurred_at,
                (t.place - 1) / \(Int64(EventRuns.lengthMax))
        ),
        news_row AS (\(Feed.recordNews(ofSessions: "SELECT session_id FROM counter"))),
        \(Fragment.wake(of: "'task.progress' = ANY (b.event_types)"))
        SELECT session_id FROM counter
        """
    }
}
