-- Log plane: attempts in partitions of a week, which are dropped as a whole when they are too old.
ALTER TABLE attempt_log RENAME TO unpartitioned_attempt_log;
ALTER TABLE unpartitioned_attempt_log
    RENAME CONSTRAINT attempt_log_pkey TO unpartitioned_attempt_log_pkey;

CREATE TABLE attempt_log (
    LIKE unpartitioned_attempt_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    -- Serves the list of a task's attempts. That an attempt is told once is ensured by the fence, for
    -- whoever tells it has removed its row: an index over all partitions has to have the time too.
    PRIMARY KEY (task_id, fence, ended_at)
) PARTITION BY RANGE (ended_at);

-- Takes what has no partition, so that no attempt ever fails to end. The service makes partitions
-- ahead, so that it stays empty.
CREATE TABLE attempt_log_default PARTITION OF attempt_log DEFAULT;

-- Weeks that have rows; the service makes all others.
DO $$
DECLARE
    week timestamp;
BEGIN
    FOR week IN
        SELECT DISTINCT date_trunc('week', ended_at AT TIME ZONE 'UTC')
        FROM unpartitioned_attempt_log
    LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF attempt_log FOR VALUES FROM (%L) TO (%L)',
            to_char(week, '"attempt_log_"YYYYMMDD'),
            to_char(week, 'YYYY-MM-DD') || ' 00:00:00+00',
            to_char(week + interval '7 days', 'YYYY-MM-DD') || ' 00:00:00+00'
        );
    END LOOP;
END
$$;

INSERT INTO attempt_log (
    task_id, fence, number, outcome, started_at, ended_at, bytes_received, resumed_at_offset,
    http_status, failure, redirects, name_lookup_us, connect_us, tls_us, first_byte_us,
    total_us, is_connection_reused, http_version, remote_address, bytes_sent, fetch_start_us,
    request_start_us, request_end_us, request_header_bytes, request_body_bytes,
    response_header_bytes, response_body_bytes, remote_port, local_address, local_port,
    connections)
SELECT
    task_id, fence, number, outcome, started_at, ended_at, bytes_received, resumed_at_offset,
    http_status, failure, redirects, name_lookup_us, connect_us, tls_us, first_byte_us,
    total_us, is_connection_reused, http_version, remote_address, bytes_sent, fetch_start_us,
    request_start_us, request_end_us, request_header_bytes, request_body_bytes,
    response_header_bytes, response_body_bytes, remote_port, local_address, local_port,
    connections
FROM unpartitioned_attempt_log;

DROP TABLE unpartitioned_attempt_log;
