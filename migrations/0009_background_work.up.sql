-- Background work: what clients do while nobody looks at them, and the moments at which it is due.

-- A moment at which somebody has to look at a client, a request or a run. What is to be done then
-- is decided by the state of the subject alone, so that looking once too often does nothing.
CREATE TABLE timer (
    subject uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('client', 'request', 'run')),
    due_at timestamptz NOT NULL,
    -- Whose it is, and takes its share of a turn.
    tenant_id uuid NOT NULL,
    -- The kind again, which only the index by tenant has, so that whatever is planned while there
    -- are few rows reads that one.
    shared_kind text NOT NULL GENERATED ALWAYS AS (kind) STORED,
    -- Set by the worker that looks at it, within one transaction.
    fence bigint
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the look for what is due, and for when that will next be so.
CREATE INDEX timer_due ON timer (kind, due_at);

-- Serves the shares of the tenants when more is due than one turn looks at.
CREATE INDEX timer_by_tenant ON timer (shared_kind, tenant_id, due_at);

-- A client that was launched after a force-quit, until all deliveries that waited for it are due.
CREATE TABLE client_resumption (
    client_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    launched_at timestamptz NOT NULL,
    -- The deliveries of its sessions from here on are due, or were tried since the launch.
    resumed_before uuid NOT NULL
);

-- Serves the look for the clients of each tenant in turn.
CREATE INDEX client_resumption_by_tenant ON client_resumption (tenant_id, client_id);

-- A client's statement that it is still working, which delays its suspension.
CREATE TABLE assertion (
    id uuid PRIMARY KEY,
    client_id uuid NOT NULL REFERENCES client (id),
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 255),
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Whether `assertion.expiring` was written since its client entered the background.
    is_expiring boolean NOT NULL DEFAULT false,
    ended_at timestamptz,
    -- Whether it was still held when the time was over.
    is_leaked boolean NOT NULL DEFAULT false,
    CONSTRAINT assertion_check CHECK (NOT is_leaked OR ended_at IS NOT NULL)
);

-- Serves whoever asks whether a client holds any, and the list of them.
CREATE INDEX assertion_held ON assertion (client_id, id) WHERE ended_at IS NULL;

-- Serves the removal of those that ended long ago.
CREATE INDEX assertion_ended ON assertion (ended_at) WHERE ended_at IS NOT NULL;

-- The assertions that clients did not end in time, by name.
CREATE TABLE assertion_leak (
    client_id uuid NOT NULL REFERENCES client (id),
    name text COLLATE "C" NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    leaked_at timestamptz NOT NULL,
    -- Serves the count and the list.
    PRIMARY KEY (client_id, name)
);

-- What a client has registered to be launched for.
CREATE TABLE background_task_handler (
    client_id uuid NOT NULL REFERENCES client (id),
    identifier text COLLATE "C" NOT NULL CHECK (octet_length(identifier) BETWEEN 1 AND 128),
    kind text NOT NULL CHECK (kind IN ('app_refresh', 'processing', 'continued_processing')),
    has_expiration_handler boolean NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    -- From which the least interval to the next launch counts.
    last_launched_at timestamptz,
    -- The launch before that one, which counts again if nobody accepts the last.
    launched_before_at timestamptz,
    -- Serves look-up and listing.
    PRIMARY KEY (client_id, identifier)
);

-- A client's request to be launched. It stays until somebody has accepted the launch, and if it
-- recurs until it is cancelled.
CREATE TABLE background_task_request (
    -- Of one submission: the one that replaces it has another.
    id uuid PRIMARY KEY,
    client_id uuid NOT NULL REFERENCES client (id),
    tenant_id uuid NOT NULL,
    identifier text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    submitted_at timestamptz NOT NULL,
    earliest_begin_at timestamptz,
    requires_network boolean NOT NULL,
    requires_power boolean NOT NULL,
    min_interval_ms bigint CHECK (min_interval_ms > 0),
    -- When it is launched again; NULL for once.
    recurrence jsonb,
    cancels_transfers boolean NOT NULL,
    completes_with_transfers boolean NOT NULL,
    title text CHECK (octet_length(title) <= 200),
    subtitle text CHECK (octet_length(subtitle) <= 200),
    -- The nominal time of the next launch.
    occurrence_at timestamptz NOT NULL,
    -- Not launched before; NULL once it was launched and does not recur.
    due_at timestamptz,
    -- Guards the decisions about it: one is made on each number.
    launches integer NOT NULL DEFAULT 0,
    -- Launches in a row that nobody has accepted.
    refusals integer NOT NULL DEFAULT 0,
    -- Why it is not launched yet, and since when.
    waits_for text NOT NULL CHECK (waits_for IN (
        'date', 'interval', 'relaunch', 'network', 'capacity', 'run', 'budget', 'subscription',
        'client_force_quit', 'disabled')),
    waits_since timestamptz NOT NULL,
    -- An identifier has one request. Serves look-up, listing and the count of pending ones.
    UNIQUE (client_id, identifier)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Serves whoever ends a wait for something other than a time.
CREATE INDEX background_task_request_waiting ON background_task_request (tenant_id, waits_for)
    WHERE waits_for NOT IN ('date', 'interval', 'relaunch');

-- Each launch, and what came of it.
CREATE TABLE background_task_run (
    id uuid PRIMARY KEY,
    client_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    identifier text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    -- Of a request that recurs.
    occurrence_at timestamptz,
    launched_at timestamptz NOT NULL,
    -- Its event in the log of its client.
    launch_sequence bigint NOT NULL,
    deadline_at timestamptz NOT NULL,
    has_expiration_handler boolean NOT NULL,
    cancels_transfers boolean NOT NULL,
    completes_with_transfers boolean NOT NULL,
    -- How far the look at the transfers of a run that completes with them has got: this one is
    -- outstanding, or is the last that was examined. Of one that has expired, the last that was
    -- cancelled.
    drained_before uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    -- Whether none was outstanding since that look began with the first of them, and whether one of
    -- them has not completed.
    is_drain_whole boolean NOT NULL DEFAULT true,
    has_failed_transfer boolean NOT NULL DEFAULT false,
    -- Whether the rest is to be looked at right away.
    is_draining boolean NOT NULL DEFAULT false,
    title text,
    subtitle text,
    completed_units bigint,
    total_units bigint,
    accepted_at timestamptz,
    -- Whether `background_task.expiring` was written for this deadline.
    is_expiring boolean NOT NULL DEFAULT false,
    ended_at timestamptz,
    -- Who or what ended it, from which its last state follows.
    reason text CHECK (reason IN (
        'completed_by_client', 'failed_by_client', 'transfers_completed', 'transfers_failed',
        'deadline_passed', 'not_accepted', 'client_force_quit')),
    -- Whether its transfers are still to be cancelled.
    must_cancel boolean NOT NULL DEFAULT false,
    CONSTRAINT background_task_run_check CHECK ((ended_at IS NULL) = (reason IS NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Of an identifier one run is open.
CREATE UNIQUE INDEX background_task_run_open ON background_task_run (client_id, identifier)
    WHERE ended_at IS NULL;

-- Serves the pages of a client's runs.
CREATE INDEX background_task_run_by_client ON background_task_run (client_id, launched_at, id);

-- Serves the pages of the runs of an identifier. No other index of all runs has the first column,
-- so that none serves the range of a page.
CREATE INDEX background_task_run_by_identifier
    ON background_task_run (identifier, client_id, launched_at, id);

-- Serves the removal of those that ended long ago.
CREATE INDEX background_task_run_ended ON background_task_run (ended_at)
    WHERE ended_at IS NOT NULL;

-- Serves the cancellation of transfers, for which tenants take turns.
CREATE INDEX background_task_run_to_cancel ON background_task_run (tenant_id, id) WHERE must_cancel;

-- The transfers that were made for a run.
CREATE TABLE background_task_transfer (
    run_id uuid NOT NULL,
    task_id uuid NOT NULL,
    PRIMARY KEY (run_id, task_id)
);
