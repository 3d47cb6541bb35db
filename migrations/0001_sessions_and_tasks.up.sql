-- Isolation: every row below belongs to one tenant, directly or through its session.
CREATE TABLE tenant (
    id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A key is looked up by its public id; only a digest of its secret is kept.
CREATE TABLE api_key (
    id text PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    secret_sha256 bytea NOT NULL CHECK (octet_length(secret_sha256) = 32),
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);

-- Truth plane. Wide and rarely written.
CREATE TABLE session (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    identifier text NOT NULL CHECK (octet_length(identifier) BETWEEN 1 AND 255),
    timeout_for_request_ms bigint NOT NULL CHECK (timeout_for_request_ms > 0),
    timeout_for_resource_ms bigint NOT NULL CHECK (timeout_for_resource_ms > 0),
    additional_headers jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    invalidated_at timestamptz
);

-- One living session per identifier; 50 parallel creations make one row. An invalidated session
-- keeps its row for its events while its identifier may be used again. Serves look-up and listing.
CREATE UNIQUE INDEX session_living_identifier
    ON session (tenant_id, identifier COLLATE "C") WHERE invalidated_at IS NULL;

-- Hot plane: the counters of a session, in a row of their own so that a change copies few bytes.
-- Its row lock orders all transactions of one session, so that event numbers have no gaps and the
-- move of `outstanding` to zero is seen exactly once.
CREATE TABLE session_progress (
    session_id uuid PRIMARY KEY,
    generation bigint NOT NULL DEFAULT 0,
    outstanding bigint NOT NULL DEFAULT 0 CHECK (outstanding >= 0),
    completed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    last_sequence bigint NOT NULL DEFAULT 0,
    -- Repeats session.invalidated_at where the row lock is, so that no submit slips past it.
    is_invalidated boolean NOT NULL DEFAULT false
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- Truth plane: what a client asked for. Not written again while the task runs: where the task
-- stands is told by which one of held, delayed, ready, attempt, publication, outcome has its row.
-- No foreign key to session: each insert would lock the session's row and pile up multixacts.
CREATE TABLE task (
    id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    generation bigint NOT NULL,
    lane bigint NOT NULL,
    priority_rank smallint NOT NULL CHECK (priority_rank BETWEEN 0 AND 1000),
    url text NOT NULL,
    headers jsonb NOT NULL,
    client_string bytea CHECK (octet_length(client_string) <= 65536),
    earliest_begin_at timestamptz,
    destination_path text,
    destination_overwrite boolean,
    created_at timestamptz NOT NULL,
    CHECK ((destination_path IS NULL) = (destination_overwrite IS NULL))
);

-- Serves the pages of GET /v1/sessions/{identifier}/tasks.
CREATE INDEX task_by_session ON task (session_id, id);

-- Hot plane. Rows are inserted and deleted, updated only where said.

-- Suspended tasks.
CREATE TABLE held (
    task_id uuid PRIMARY KEY
);

-- Tasks that may not begin before `due_at`: scheduled, or waiting for a retry.
CREATE TABLE delayed (
    task_id uuid PRIMARY KEY,
    due_at timestamptz NOT NULL,
    attempt smallint NOT NULL,
    failure jsonb,
    lane bigint NOT NULL,
    priority_rank smallint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves promotion: due rows only, in order.
CREATE INDEX delayed_due ON delayed (due_at);

-- Runnable tasks only: a claim never walks past a row it may not take.
CREATE TABLE ready (
    lane bigint NOT NULL,
    priority_rank smallint NOT NULL,
    task_id uuid NOT NULL,
    attempt smallint NOT NULL,
    -- Serves the claim: the lane is its equality, the rest its order.
    PRIMARY KEY (lane, priority_rank, task_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- One registration of one running service; the source of its attempts' fences.
CREATE TABLE worker (
    incarnation integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 30);

-- A task being transferred. `bytes_received` is written once a second, on rows that moved.
CREATE TABLE attempt (
    task_id uuid PRIMARY KEY,
    fence bigint NOT NULL,
    worker integer NOT NULL,
    number smallint NOT NULL CHECK (number > 0),
    session_id uuid NOT NULL,
    lane bigint NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes_received bigint NOT NULL DEFAULT 0,
    bytes_expected bigint
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- Serves the rescue of a dead worker's attempts.
CREATE INDEX attempt_by_worker ON attempt (worker);

-- The point of no return between transfer and outcome: the part file of this fence is whole and
-- durable, and it and no other becomes the result. Whoever finds the row renames and completes.
CREATE TABLE publication (
    task_id uuid PRIMARY KEY,
    fence bigint NOT NULL,
    part_fence bigint NOT NULL,
    worker integer NOT NULL,
    number smallint NOT NULL,
    session_id uuid NOT NULL,
    http_status smallint NOT NULL,
    bytes_received bigint NOT NULL,
    content_type text,
    etag text,
    is_length_verified boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- Serves the rescue of a dead worker's publications.
CREATE INDEX publication_by_worker ON publication (worker);

-- An attempt that its worker must abandon because the task was cancelled; removed by that worker
-- when the attempt has ended.
CREATE TABLE revocation (
    worker integer NOT NULL,
    fence bigint NOT NULL,
    task_id uuid NOT NULL,
    -- Serves the removal of those that were heeded.
    PRIMARY KEY (fence)
);

-- Serves the worker's look for its own.
CREATE INDEX revocation_by_worker ON revocation (worker);

-- A session whose tasks are being cancelled; gone when the last of them has ended.
CREATE TABLE invalidation (
    session_id uuid PRIMARY KEY
);

-- Where a task stands and ends; the same words as in code and API.
CREATE TYPE task_state AS ENUM (
    'suspended', 'scheduled', 'queued', 'running', 'waiting_for_retry',
    'completed', 'failed', 'cancelled'
);

-- Truth plane: how a task ended. Written once; the primary key makes a second end impossible.
CREATE TABLE outcome (
    task_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    generation bigint NOT NULL,
    state task_state NOT NULL CHECK (state IN ('completed', 'failed', 'cancelled')),
    attempt smallint NOT NULL,
    bytes_received bigint NOT NULL,
    http_status smallint,
    content_type text,
    etag text,
    is_length_verified boolean,
    failure jsonb,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((state = 'completed') = (is_length_verified IS NOT NULL)),
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);

-- Serves listing by terminal state and the failed tasks of a drained generation.
CREATE INDEX outcome_by_state ON outcome (session_id, state, task_id);

-- Log plane: what happened, written in the transaction in which it happened.
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
    -- Serves the pages of events and the deliveries' cursors.
    PRIMARY KEY (session_id, sequence),
    CHECK ((task_id IS NULL) = (task_state IS NULL))
);

-- Guard plane: the answer to a request that its client may repeat.
CREATE TABLE idempotency_key (
    tenant_id uuid NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    request_sha256 bytea NOT NULL CHECK (octet_length(request_sha256) = 32),
    status smallint NOT NULL,
    location text,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, key)
);

-- Serves the removal of old keys.
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);
