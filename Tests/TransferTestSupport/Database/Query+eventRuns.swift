package import Postgres

/// Changes of single events, which lie in runs of many.
extension Query {
    /// The statement that gives each event a row of `event_run` of its own, so that single ones can
    /// be changed.
    package static let splitEventRuns: Query = """
        WITH gone AS (
            DELETE FROM event_run WHERE last_sequence > first_sequence RETURNING *
        )
        INSERT INTO event_run (
            session_id, last_sequence, first_sequence, kind, generation, occurred_at, task_ids,
            task_state, attempts, bytes_received, failures, bytes_expected, bytes_sent,
            bytes_to_send)
        SELECT g.session_id, g.first_sequence + k.place - 1, g.first_sequence + k.place - 1, g.kind,
            g.generation, g.occurred_at, g.task_ids[k.place : k.place], g.task_state,
            g.attempts[k.place : k.place], g.bytes_received[k.place : k.place],
            g.failures[k.place : k.place], g.bytes_expected[k.place : k.place],
            g.bytes_sent[k.place : k.place], g.bytes_to_send[k.place : k.place]
        FROM gone g CROSS JOIN LATERAL generate_series(1, cardinality(g.task_ids)) AS k (place)
        """

    /// Returns the statements that remove the events of which `condition` is true, as if they had
    /// expired; it names the columns of `event_run`, where each has a row of its own.
    package static func expireEvents(where condition: Query) -> [Query] {
        [splitEventRuns, "DELETE FROM event_run WHERE \(condition)"]
    }
}
