-- History: what happened to tasks and sessions, and what the events need of tasks that are gone.
--
-- Events, the feed and attempts lie in partitions of a week, which are dropped as a whole when they
-- are too old. The service makes partitions ahead. Hardly a row dies before, so that the defaults
-- of autovacuum do.

-- What happened, written in the transaction in which it happened: a row for those events that one
-- statement wrote of one session, one after the other, of one kind and with one state of their
-- tasks. Events of no session belong to their tenant or client: their session_id, and that of their
-- counters and deliveries, is the tenant's or the client's.
--
-- An event's identifier follows from its session, its number and its time. The time is part of it
-- so that what happens after a database was restored to an earlier moment has other identifiers
-- than what had happened under the same numbers.
CREATE TABLE event_run (
    session_id uuid NOT NULL,
    -- The numbers of its events.
    last_sequence bigint NOT NULL,
    first_sequence bigint NOT NULL CHECK (first_sequence > 0),
    kind text NOT NULL,
    generation bigint NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Of events about tasks, an element for each event; NULL where that is zero or NULL for all.
    task_ids uuid[],
    task_state task_state,
    attempts smallint[],
    bytes_received bigint[],
    failures jsonb[],
    -- How far the tasks were, in events of the kind task.progress; NULL where unknown.
    bytes_expected bigint[],
    bytes_sent bigint[],
    bytes_to_send bigint[],
    -- Of an event about no task, which is a run by itself.
    summary jsonb,
    details jsonb,
    -- Serves the pages of events and the deliveries' cursors. The lock of a session's counters
    -- ensures that it has a number once: an index over all partitions has to have the time too.
    PRIMARY KEY (session_id, last_sequence, occurred_at),
    CONSTRAINT event_run_length_check CHECK (
        last_sequence - first_sequence + 1 = coalesce(cardinality(task_ids), 1)),
    CONSTRAINT event_run_check CHECK ((task_ids IS NULL) = (task_state IS NULL))
) PARTITION BY RANGE (occurred_at);

-- In line, where an element is found by its place: a run of 128 fits into a page.
ALTER TABLE event_run
    ALTER task_ids SET STORAGE MAIN,
    ALTER attempts SET STORAGE MAIN,
    ALTER bytes_received SET STORAGE MAIN,
    ALTER bytes_expected SET STORAGE MAIN,
    ALTER bytes_sent SET STORAGE MAIN,
    ALTER bytes_to_send SET STORAGE MAIN;

-- Takes what has no partition, so that no insert ever fails. It stays empty while the service makes
-- partitions ahead.
CREATE TABLE event_run_default PARTITION OF event_run DEFAULT WITH (toast_tuple_target = 8160);

-- Each event by itself, for people. Pages of events are read from the runs.
CREATE VIEW event AS
SELECT overlay(overlay(encode(substring(sha256(uuid_send(r.session_id)
        || int8send(r.first_sequence + k.place - 1) || timestamptz_send(r.occurred_at)) FOR 16),
        'hex') PLACING '8' FROM 13 FOR 1) PLACING '8' FROM 17 FOR 1)::uuid AS id,
    r.session_id, r.first_sequence + k.place - 1 AS sequence, r.kind, r.generation, r.occurred_at,
    r.task_ids[k.place] AS task_id, r.task_state,
    CASE WHEN r.task_ids IS NOT NULL THEN coalesce(r.attempts[k.place], 0::smallint) END AS attempt,
    CASE WHEN r.task_ids IS NOT NULL THEN coalesce(r.bytes_received[k.place], 0) END
        AS bytes_received,
    r.failures[k.place] AS failure, r.summary, r.details
FROM event_run r
CROSS JOIN LATERAL generate_series(1, (r.last_sequence - r.first_sequence + 1)::int) AS k (place);

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

-- Each attempt that has ended but did not end its task; the one that did is told of by the outcome,
-- until the task is retried.
CREATE TABLE attempt_log (
    task_id uuid NOT NULL,
    fence bigint NOT NULL,
    number smallint NOT NULL,
    outcome text NOT NULL CHECK (outcome IN (
        'failed', 'retried', 'released', 'lost', 'suspended', 'cancelled')),
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes_received bigint NOT NULL,
    resumed_at_offset bigint,
    failure jsonb,
    bytes_sent bigint NOT NULL DEFAULT 0,
    -- As in outcome.
    measurements text,
    -- Serves the list of a task's attempts. The fence ensures that an attempt is logged
    -- once, by whoever removed its row: an index over all partitions has to have the time too.
    PRIMARY KEY (task_id, fence, ended_at)
) PARTITION BY RANGE (ended_at);

-- Takes what has no partition, so that no attempt ever fails to end. It stays empty while the
-- service makes partitions ahead.
CREATE TABLE attempt_log_default PARTITION OF attempt_log DEFAULT;

-- The feed: the events of all sessions of a tenant in one order.
--
-- Nothing of it is written by the statements that write events. What is new in a session is added
-- afterwards, as one row, in a transaction that holds the tenant's end of the feed: positions have
-- no gaps and appear in their order, whatever else runs beside it. A row of `task_move` says where
-- something is new; one without states says only that.

-- Events of a session that follow each other, with their positions among those of the tenant. A
-- session is also a client or a tenant with its own events. A row may outlive its events.
CREATE TABLE event_feed (
    tenant_id uuid NOT NULL,
    -- The positions of its events.
    last_position bigint NOT NULL,
    first_position bigint NOT NULL CHECK (first_position BETWEEN 1 AND last_position),
    session_id uuid NOT NULL,
    first_sequence bigint NOT NULL CHECK (first_sequence > 0),
    -- Its events happened between these. The later one grows with the position, so that the oldest
    -- positions are removed first.
    first_occurred_at timestamptz NOT NULL,
    last_occurred_at timestamptz NOT NULL,
    -- Serves the pages of the feed. The lock of the tenant's end ensures that it has a position
    -- once: an index over all partitions has to have the time too.
    PRIMARY KEY (tenant_id, last_position, last_occurred_at)
) PARTITION BY RANGE (last_occurred_at);

-- Takes what has no partition, as for runs of events.
CREATE TABLE event_feed_default PARTITION OF event_feed DEFAULT;

-- The end of each tenant's feed.
CREATE TABLE feed_tenant (
    tenant_id uuid PRIMARY KEY,
    last_position bigint NOT NULL,
    last_occurred_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- The events of each session that were last added to the feed.
CREATE TABLE feed_session (
    session_id uuid PRIMARY KEY,
    first_sequence bigint NOT NULL,
    last_sequence bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Events from before this was reverted are gone, and no part of the feed.
INSERT INTO feed_session (session_id, first_sequence, last_sequence)
SELECT p.session_id, 1, p.last_sequence FROM session_progress p;
