-- The most bytes in a second of all running tasks of a tenant or of a session together; NULL for
-- any.
ALTER TABLE tenant ADD COLUMN total_bytes_per_second_max bigint
    CHECK (total_bytes_per_second_max > 0);
ALTER TABLE session ADD COLUMN total_bytes_per_second_max bigint
    CHECK (total_bytes_per_second_max > 0);

-- Counts the changes of a session's configuration, so that one based on another is not lost.
ALTER TABLE session ADD COLUMN revision integer NOT NULL DEFAULT 1;

-- Counts the changes of limits of tasks, sessions and tenants, in the transactions that change
-- them: a worker that knows this number knows the limits of what it runs. One row.
CREATE TABLE limit_change (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version bigint NOT NULL
);
INSERT INTO limit_change (version) VALUES (1);

-- Of the last seconds, as its worker has measured it.
ALTER TABLE attempt ADD COLUMN bytes_per_second bigint NOT NULL DEFAULT 0;

-- How far the task was, in an event of the kind task.progress; NULL in others, and where unknown.
ALTER TABLE event ADD COLUMN bytes_expected bigint;
ALTER TABLE event ADD COLUMN bytes_sent bigint;
ALTER TABLE event ADD COLUMN bytes_to_send bigint;

-- Of the attempt's last request: when it began, counted from the begin of the attempt, and further
-- points counted from its own begin, as above.
ALTER TABLE attempt_log ADD COLUMN fetch_start_us bigint;
ALTER TABLE attempt_log ADD COLUMN request_start_us bigint;
ALTER TABLE attempt_log ADD COLUMN request_end_us bigint;
ALTER TABLE attempt_log ADD COLUMN request_header_bytes bigint;
ALTER TABLE attempt_log ADD COLUMN request_body_bytes bigint;
ALTER TABLE attempt_log ADD COLUMN response_header_bytes bigint;
ALTER TABLE attempt_log ADD COLUMN response_body_bytes bigint;
ALTER TABLE attempt_log ADD COLUMN remote_port integer;
ALTER TABLE attempt_log ADD COLUMN local_address text;
ALTER TABLE attempt_log ADD COLUMN local_port integer;
