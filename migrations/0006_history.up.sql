-- History: what happened to tasks and sessions, and what the events need of tasks that are gone.
--
-- Events and attempts lie in partitions of a week, which are dropped as a whole when they are too
-- old. The service makes partitions ahead. Hardly a row dies before, so that the
-- defaults of autovacuum do.

-- What happened, written in the transaction in which it happened. Events of no session belong to
-- their tenant: their session_id, and that of their counters and deliveries, is the tenant's.
CREATE TABLE event (
    session_id uuid NOT NULL,
    sequence bigint NOT NULL CHECK (sequence > 0),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    kind text NOT NULL,
    generation bigint NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    task_id uuid,
    task_state task_state,
    attempt smallint,
    bytes_received bigint,
    failure jsonb,
    summary jsonb,
    -- How far the task was, in an event of the kind task.progress; NULL in others, and where
    -- unknown.
    bytes_expected bigint,
    bytes_sent bigint,
    bytes_to_send bigint,
    -- What an event says that is about no task.
    details jsonb,
    -- Serves the pages of events and the deliveries' cursors. The lock of a session's counters
    -- ensures that it has a number once: an index over all partitions has to have the time too.
    PRIMARY KEY (session_id, sequence, occurred_at),
    CONSTRAINT event_check CHECK ((task_id IS NULL) = (task_state IS NULL))
) PARTITION BY RANGE (occurred_at);

-- Takes what has no partition, so that no insert ever fails. It stays empty while the service makes
-- partitions ahead.
CREATE TABLE event_default PARTITION OF event DEFAULT;

-- What a task's client string was before it was changed. An event tells it as it was then, so that
-- a message which is repeated has the bytes that it had.
CREATE TABLE client_string_change (
    task_id uuid NOT NULL,
    -- The last event of the task's session at which it held.
    through_sequence bigint NOT NULL,
    client_string bytea CHECK (octet_length(client_string) <= 65536),
    -- Serves the reading of events.
    PRIMARY KEY (task_id, through_sequence)
);

-- What events still need of a task that is kept no longer; it goes with the last of them. It has a
-- table of its own, so that no reader of tasks has to walk past those that are gone. The
-- table grows as `task` does, and is vacuumed like it.
CREATE TABLE expired_task (
    task_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    generation bigint NOT NULL,
    finished_at timestamptz NOT NULL,
    -- Of a failed task, for the summary of its generation.
    failure_code text,
    client_string bytea CHECK (octet_length(client_string) <= 65536)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Serves the removal of those that no event is about.
CREATE INDEX expired_task_by_generation ON expired_task (session_id, generation);

-- Serves the failed tasks in the summary of a generation.
CREATE INDEX expired_task_failed ON expired_task (session_id, generation, task_id)
    WHERE failure_code IS NOT NULL;

-- What the end of a generation says of a failed task that was retried afterwards; it goes with that
-- event.
CREATE TABLE retried_failure (
    session_id uuid NOT NULL,
    generation bigint NOT NULL,
    task_id uuid NOT NULL,
    failure_code text NOT NULL,
    -- Serves the failed tasks in the summary of a generation, and the removal.
    PRIMARY KEY (session_id, generation, task_id)
);

-- Each attempt that has ended, with what was measured of it.
CREATE TABLE attempt_log (
    task_id uuid NOT NULL,
    fence bigint NOT NULL,
    number smallint NOT NULL,
    outcome text NOT NULL CHECK (outcome IN (
        'completed', 'failed', 'retried', 'released', 'lost', 'suspended', 'cancelled')),
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes_received bigint NOT NULL,
    resumed_at_offset bigint,
    http_status smallint,
    failure jsonb,
    redirects smallint,
    -- Of the attempt's last request. Times count from its start; NULL where that was not reached.
    name_lookup_us bigint,
    connect_us bigint,
    tls_us bigint,
    first_byte_us bigint,
    total_us bigint,
    is_connection_reused boolean,
    http_version text,
    remote_address text,
    bytes_sent bigint NOT NULL DEFAULT 0,
    -- The start of the last request, counted from the start of the attempt.
    fetch_start_us bigint,
    request_start_us bigint,
    request_end_us bigint,
    request_header_bytes bigint,
    request_body_bytes bigint,
    response_header_bytes bigint,
    response_body_bytes bigint,
    remote_port integer,
    local_address text,
    local_port integer,
    -- The most connections that the attempt had at once; NULL where nothing was measured.
    connections smallint,
    -- Serves the list of a task's attempts. The fence ensures that an attempt is logged
    -- once, by whoever removed its row: an index over all partitions has to have the time too.
    PRIMARY KEY (task_id, fence, ended_at)
) PARTITION BY RANGE (ended_at);

-- Takes what has no partition, so that no attempt ever fails to end. It stays empty while the
-- service makes partitions ahead.
CREATE TABLE attempt_log_default PARTITION OF attempt_log DEFAULT;
