-- Sessions: whose tasks belong together, how they are transferred, and the counters of each.

-- A session's configuration: wide and rarely written.
CREATE TABLE session (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    identifier text NOT NULL CHECK (octet_length(identifier) BETWEEN 1 AND 255),
    timeout_for_request_ms bigint NOT NULL CHECK (timeout_for_request_ms > 0),
    timeout_for_resource_ms bigint NOT NULL CHECK (timeout_for_resource_ms > 0),
    additional_headers jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The row stays after that for the session's events, while its identifier may be used again.
    invalidated_at timestamptz,
    -- How its tasks are transferred; NULL for nothing said. Read with the claim and never searched,
    -- so that a column each would only be carried along.
    options jsonb,
    -- Read with every claim, so that credentials of sessions without any are not looked up.
    has_credentials boolean NOT NULL DEFAULT false,
    -- An ephemeral session leaves nothing behind. Only in one a task may be a data task.
    kind text NOT NULL DEFAULT 'background' CHECK (kind IN ('background', 'ephemeral')),
    -- The most bytes in a second of all its running tasks together; NULL for any number.
    total_bytes_per_second_max bigint CHECK (total_bytes_per_second_max > 0),
    -- Counts the changes of the configuration, so that one based on another is not lost.
    revision integer NOT NULL DEFAULT 1,
    -- By name, so that nothing that tells of a session has to look up its client.
    client text COLLATE "C" NOT NULL DEFAULT 'default',
    -- The container that an extension shares with the app that adopts its sessions.
    shared_container_identifier text
        CHECK (octet_length(shared_container_identifier) BETWEEN 1 AND 64),
    -- How long an ended task is kept, if not as long as the service says.
    result_retention_ms bigint CHECK (result_retention_ms > 0),
    -- Connections of all its tasks to one host; NULL for as many as the host may have.
    max_connections_per_host smallint CHECK (max_connections_per_host > 0),
    -- Whether its tasks wait until there is nothing else to do.
    is_discretionary boolean NOT NULL DEFAULT false
);

-- A client's identifier names one living session: 50 parallel creations make one row. Serves
-- look-up and listing.
CREATE UNIQUE INDEX session_living_identifier
    ON session (tenant_id, client, identifier COLLATE "C") WHERE invalidated_at IS NULL;

-- Serves the look-up of the ended session of a name: its tasks and events are read by that name
-- until another takes it. Serves the removal of tenants and clients with their sessions, too.
CREATE INDEX session_by_identifier
    ON session (tenant_id, client, identifier COLLATE "C", invalidated_at);

-- Serves the deliveries of a client that is launched after a force-quit, also of ended sessions.
-- The expression is the client, in a form that no other index has: a plan made while there were few
-- sessions would read all of the client's in the smaller index, and sort them.
CREATE INDEX session_by_client ON session ((client || ''), tenant_id, id);

-- Serves the count of a tenant's living sessions, of which it may have so many.
CREATE INDEX session_living ON session (tenant_id, id) WHERE invalidated_at IS NULL;

-- The counters of a session lie in a row of their own, so that a change copies few bytes. The row's
-- lock orders all transactions of one session: event numbers have no gaps, and the move of
-- `outstanding` to zero is seen exactly once. A tenant has such a row too, for its own events.
CREATE TABLE session_progress (
    session_id uuid PRIMARY KEY,
    generation bigint NOT NULL DEFAULT 0,
    outstanding bigint NOT NULL DEFAULT 0 CHECK (outstanding >= 0),
    completed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    last_sequence bigint NOT NULL DEFAULT 0,
    -- Repeats session.invalidated_at where the row lock is, so that no submit slips past it.
    is_invalidated boolean NOT NULL DEFAULT false,
    -- Repeats the client's lifecycle where the row lock is, so that no submit slips past a
    -- force-quit.
    is_force_quit boolean NOT NULL DEFAULT false,
    -- The session takes no further tasks, and its last event comes with the end of its last one,
    -- which also ends the session unless it was invalidated. It stands where the row lock is: no
    -- submit slips past it, and the transaction that ends the last task sees it.
    is_finishing boolean NOT NULL DEFAULT false,
    -- Whether the client was told that tasks of the session need it, and has done nothing since.
    is_pending_told boolean NOT NULL DEFAULT false
-- Updated by every transaction of the session: most of a page is left for new versions of its rows.
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- What a client has answered to a challenge: the session's tasks use it for that origin.
CREATE TABLE session_credential (
    session_id uuid NOT NULL,
    origin text NOT NULL,
    credential_id uuid NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Serves the look-up of what claimed tasks are to show.
    PRIMARY KEY (session_id, origin)
);

-- An invalidated ephemeral session, until the last of its rows and files is gone.
CREATE TABLE erasure (
    session_id uuid PRIMARY KEY,
    begun_at timestamptz NOT NULL DEFAULT now()
);
