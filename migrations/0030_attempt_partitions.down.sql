ALTER TABLE attempt_log RENAME TO partitioned_attempt_log;
ALTER TABLE partitioned_attempt_log
    RENAME CONSTRAINT attempt_log_pkey TO partitioned_attempt_log_pkey;

CREATE TABLE attempt_log (
    LIKE partitioned_attempt_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    PRIMARY KEY (task_id, fence)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

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
FROM partitioned_attempt_log;

DROP TABLE partitioned_attempt_log;
