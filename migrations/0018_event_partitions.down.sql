ALTER TABLE event RENAME TO partitioned_event;
ALTER TABLE partitioned_event RENAME CONSTRAINT event_pkey TO partitioned_event_pkey;

CREATE TABLE event (
    LIKE partitioned_event INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    PRIMARY KEY (session_id, sequence)
);

INSERT INTO event (
    session_id, sequence, id, kind, generation, occurred_at, task_id, task_state, attempt,
    bytes_received, failure, summary, bytes_expected, bytes_sent, bytes_to_send, details)
SELECT session_id, sequence, id, kind, generation, occurred_at, task_id, task_state, attempt,
    bytes_received, failure, summary, bytes_expected, bytes_sent, bytes_to_send, details
FROM partitioned_event;

DROP TABLE partitioned_event;
