ALTER TABLE attempt_log
    DROP COLUMN fetch_start_us, DROP COLUMN request_start_us, DROP COLUMN request_end_us,
    DROP COLUMN request_header_bytes, DROP COLUMN request_body_bytes,
    DROP COLUMN response_header_bytes, DROP COLUMN response_body_bytes, DROP COLUMN remote_port,
    DROP COLUMN local_address, DROP COLUMN local_port;
ALTER TABLE event
    DROP COLUMN bytes_expected, DROP COLUMN bytes_sent, DROP COLUMN bytes_to_send;
ALTER TABLE attempt DROP COLUMN bytes_per_second;
DROP TABLE limit_change;
ALTER TABLE session DROP COLUMN revision, DROP COLUMN total_bytes_per_second_max;
ALTER TABLE tenant DROP COLUMN total_bytes_per_second_max;
