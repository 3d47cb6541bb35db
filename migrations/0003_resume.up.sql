-- A task may be suspended after attempts of it have begun.
ALTER TABLE held ADD COLUMN attempt smallint NOT NULL DEFAULT 0;

-- When the first attempt began; NULL before. The session's timeout_for_resource runs from here, over
-- all attempts, and begins anew when a suspended task is resumed.
ALTER TABLE ready ADD COLUMN began_at timestamptz;
ALTER TABLE delayed ADD COLUMN began_at timestamptz;
ALTER TABLE attempt ADD COLUMN began_at timestamptz NOT NULL DEFAULT clock_timestamp();

-- Set once the origin has agreed to send only the rest; with it goes the event.
ALTER TABLE attempt ADD COLUMN resumed_at_offset bigint CHECK (resumed_at_offset > 0);

-- Carried over from the attempt for its entry in attempt_log.
ALTER TABLE publication ADD COLUMN started_at timestamptz NOT NULL DEFAULT clock_timestamp();
ALTER TABLE publication ADD COLUMN resumed_at_offset bigint;

-- Hot plane: the part file that the next attempt of a task goes on with. Only transfers that last
-- have a row: the first checkpoint makes it, the outcome removes it.
CREATE TABLE partial (
    task_id uuid PRIMARY KEY,
    -- Names the file, and so the attempt that began it.
    part_fence bigint NOT NULL,
    -- The task that began the file, when it came with resume data; then it may still lie there.
    source_task_id uuid,
    -- Within this boot of the machine the file holds whatever was written to it; after another,
    -- only what was made durable.
    boot_id uuid NOT NULL,
    bytes_durable bigint NOT NULL CHECK (bytes_durable >= 0),
    bytes_total bigint NOT NULL CHECK (bytes_total > 0),
    -- The value of If-Range (RFC 9110 §13.1.5).
    validator text NOT NULL CHECK (octet_length(validator) BETWEEN 2 AND 255)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the question of a worker whether a part file is still wanted.
CREATE INDEX partial_by_fence ON partial (part_fence);

-- Hot plane: part files that nobody will go on with, until a worker has removed them.
CREATE TABLE abandoned_part (
    fence bigint PRIMARY KEY,
    task_id uuid NOT NULL,
    source_task_id uuid
);

-- Truth plane: what a cancelled task left for another one, until that takes it.
CREATE TABLE resume_data (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    part_fence bigint NOT NULL,
    source_task_id uuid NOT NULL,
    boot_id uuid NOT NULL,
    bytes_durable bigint NOT NULL,
    bytes_total bigint NOT NULL,
    validator text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Serves the question of a worker whether a part file is still wanted.
CREATE INDEX resume_data_by_fence ON resume_data (part_fence);

-- Log plane: each attempt that has ended, with what was measured of it. Times count from the start
-- of its last request; NULL where that was not reached.
CREATE TABLE attempt_log (
    task_id uuid NOT NULL,
    -- Serves the list of a task's attempts.
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
    name_lookup_us bigint,
    connect_us bigint,
    tls_us bigint,
    first_byte_us bigint,
    total_us bigint,
    is_connection_reused boolean,
    http_version text,
    remote_address text,
    PRIMARY KEY (task_id, fence)
);
