-- Log plane: events in partitions of a week, which are dropped as a whole when they are too old.
ALTER TABLE event RENAME TO unpartitioned_event;
ALTER TABLE unpartitioned_event RENAME CONSTRAINT event_pkey TO unpartitioned_event_pkey;

CREATE TABLE event (
    LIKE unpartitioned_event INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    -- Serves the pages of events and the deliveries' cursors. That a session has a number once is
    -- ensured by the lock of its counters: an index over all partitions has to have the time too.
    PRIMARY KEY (session_id, sequence, occurred_at)
) PARTITION BY RANGE (occurred_at);

-- Takes what has no partition, so that no insert ever fails. The service makes partitions ahead, so
-- that it stays empty.
CREATE TABLE event_default PARTITION OF event DEFAULT;

-- Weeks that have rows; the service makes all others.
DO $$
DECLARE
    week timestamp;
BEGIN
    FOR week IN
        SELECT DISTINCT date_trunc('week', occurred_at AT TIME ZONE 'UTC')
        FROM unpartitioned_event
    LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF event FOR VALUES FROM (%L) TO (%L)',
            to_char(week, '"event_"YYYYMMDD'),
            to_char(week, 'YYYY-MM-DD') || ' 00:00:00+00',
            to_char(week + interval '7 days', 'YYYY-MM-DD') || ' 00:00:00+00'
        );
    END LOOP;
END
$$;

INSERT INTO event (
    session_id, sequence, id, kind, generation, occurred_at, task_id, task_state, attempt,
    bytes_received, failure, summary, bytes_expected, bytes_sent, bytes_to_send, details)
SELECT session_id, sequence, id, kind, generation, occurred_at, task_id, task_state, attempt,
    bytes_received, failure, summary, bytes_expected, bytes_sent, bytes_to_send, details
FROM unpartitioned_event;

DROP TABLE unpartitioned_event;
