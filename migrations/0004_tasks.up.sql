-- Tasks: what clients asked for, and where each task stands.
--
-- A task's state is told by the table that names it (docs/states.md). A transition takes it out of
-- one and puts it into another, and never writes the wide row of `task`.
--
-- Tables through which rows pass are vacuumed after few of them, without pauses: what is dead lies
-- in the way of whoever reads next. Tables that grow and lose their oldest rows to retention (task,
-- outcome) are vacuumed after a fiftieth, for a fifth, the default, would be tens of millions of
-- dead rows; they are large, so that the pauses stay. There the visibility map follows what is
-- added, or each look at an index visits the table.

-- Where a task stands and ends; the same words as in code and API.
CREATE TYPE task_state AS ENUM (
    'suspended', 'scheduled', 'waiting_to_begin', 'queued', 'running', 'waiting_for_retry',
    -- A host that cannot be reached at all is no failure of the tasks that wait for it.
    'waiting_for_connectivity',
    'waiting_for_authentication', 'completed', 'failed', 'cancelled'
);

-- What a client asked for. No transition writes it, except that a retry moves it to the generation
-- that is under way, and an attempt's end a download with mirrors to another host.
-- No foreign key to session: each insert would lock the session's row and pile up multixacts.
CREATE TABLE task (
    id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    generation bigint NOT NULL,
    -- The host of its URL, or of the mirror that it asks.
    host_key bigint NOT NULL,
    priority_rank smallint NOT NULL CHECK (priority_rank BETWEEN 0 AND 1000),
    url text NOT NULL,
    -- NULL for none.
    headers jsonb,
    client_string bytea CHECK (octet_length(client_string) <= 65536),
    earliest_begin_at timestamptz,
    -- Where a download's file is to lie; NULL where it needs no name of its own.
    destination_path text,
    destination_overwrite boolean,
    created_at timestamptz NOT NULL,
    -- What the task wants otherwise than its session; NULL for nothing. Read with the claim and
    -- never searched, so that a column each would only be carried along.
    options jsonb,
    kind text NOT NULL DEFAULT 'download' CHECK (kind IN ('download', 'upload', 'data')),
    -- NULL: GET for a download, PUT for an upload.
    method text CHECK (octet_length(method) BETWEEN 1 AND 32),
    -- Where the bytes of an upload come from: a file of the container, what a client brings to the
    -- service before the task begins, or the row itself.
    upload_path text,
    upload_is_staged boolean NOT NULL DEFAULT false,
    upload_data bytea CHECK (octet_length(upload_data) <= 65664),
    -- The bytes lie elsewhere, and upload_data says where.
    upload_is_copy boolean NOT NULL DEFAULT false,
    -- The number of changes by its client, for conditional changes: each compares and increases it
    -- in its own statement.
    revision integer NOT NULL DEFAULT 0,
    CONSTRAINT task_check CHECK ((destination_path IS NULL) = (destination_overwrite IS NULL)),
    -- An upload has one source. Another task sends what the row itself holds, or nothing.
    CONSTRAINT task_upload_check CHECK (
        (upload_path IS NOT NULL)::int + upload_is_staged::int + (upload_data IS NOT NULL)::int
            = CASE kind
                WHEN 'upload' THEN 1
                ELSE (upload_data IS NOT NULL)::int
            END),
    CONSTRAINT task_copy_check
        CHECK (NOT upload_is_copy OR (kind = 'upload' AND upload_data IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Serves the pages of a session's tasks.
CREATE INDEX task_by_session ON task (session_id, id);

-- Suspended tasks.
CREATE TABLE held (
    task_id uuid PRIMARY KEY,
    -- More than zero for a task that was suspended after attempts of it had begun.
    attempt smallint NOT NULL DEFAULT 0,
    -- The task waits for the bytes that its client is still to bring,
    awaits_body boolean NOT NULL DEFAULT false,
    -- and begins by itself when they are there.
    autostart boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Tasks that may not begin before `due_at`: scheduled, or waiting for a retry or a host.
CREATE TABLE delayed (
    task_id uuid PRIMARY KEY,
    due_at timestamptz NOT NULL,
    attempt smallint NOT NULL,
    -- NULL for a scheduled task.
    failure jsonb,
    host_key bigint NOT NULL,
    priority_rank smallint NOT NULL,
    -- When the first attempt began; NULL before. The session's timeout_for_resource runs from here,
    -- over all attempts, and starts again when a suspended task is resumed.
    began_at timestamptz,
    -- The host could not be reached: the wait ends when another task has reached it.
    awaits_host boolean NOT NULL DEFAULT false,
    -- Whether the client is asked when the time has come.
    asks_to_begin boolean NOT NULL DEFAULT false,
    session_id uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the release of those that wait for a host which has been reached again.
CREATE INDEX delayed_awaiting_host ON delayed (host_key) WHERE awaits_host;

-- Serves the promotion of those that do not ask: due rows only, in order.
CREATE INDEX delayed_due ON delayed (due_at) WHERE NOT asks_to_begin;

-- Serves the promotion of those that ask.
CREATE INDEX delayed_due_asking ON delayed (due_at) WHERE asks_to_begin;

-- Tasks that wait for their client: one question a task, until it is answered or its time is over.
CREATE TABLE asked (
    task_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    question text NOT NULL CHECK (question IN ('begin', 'authentication')),
    attempt smallint NOT NULL,
    -- When the first attempt began; NULL before.
    began_at timestamptz,
    until timestamptz NOT NULL,
    -- What the task fails with when nobody answers.
    failure jsonb NOT NULL,
    -- Who wants to be authenticated to: scheme, host and port of the task's URL.
    origin text,
    -- The named credential that was refused, and when the refused attempt began: a change since
    -- then is the answer.
    credential text,
    attempted_at timestamptz,
    CONSTRAINT asked_check CHECK (
        num_nonnulls(origin, attempted_at) = CASE question WHEN 'authentication' THEN 2 ELSE 0 END)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the end of those that nobody has answered.
CREATE INDEX asked_until ON asked (until);

-- Serves an answer that holds for all tasks of a session that wait for the same origin.
CREATE INDEX asked_by_origin ON asked (session_id, origin, attempted_at) WHERE origin IS NOT NULL;

-- Serves a change of the credential that tasks wait for.
CREATE INDEX asked_by_credential ON asked (tenant_id, credential, attempted_at)
WHERE credential IS NOT NULL;

-- Serves the event about all tasks of a session that wait for their client.
CREATE INDEX asked_by_session ON asked (session_id, task_id);

-- An answer to several questions: all that were asked for attempts before it. The tasks continue in
-- pages, and the row goes with the last.
CREATE TABLE answer (
    id uuid PRIMARY KEY,
    -- Set once everybody sees the credential.
    answered_at timestamptz,
    tenant_id uuid NOT NULL,
    -- A client has answered for an origin,
    session_id uuid,
    origin text,
    -- or the tenant has changed the credential of this name.
    credential text,
    CONSTRAINT answer_check CHECK (
        num_nonnulls(session_id, origin) = CASE WHEN credential IS NULL THEN 2 ELSE 0 END)
);

-- Serves the look for the answers of each tenant in turn.
CREATE INDEX answer_by_tenant ON answer (tenant_id, id);

-- Runnable tasks only: a claim never walks past a row that it may not take.
--
-- A row has tasks whose identifiers follow each other without a gap, as those of one submission do,
-- and differ in their last seven bits alone; they have everything else in common. A task that comes
-- back to the queue is a run by itself. So the runs of a session at a host never overlap: whoever
-- looks for a task finds it in the first run that does not end before it, or it is not in the
-- queue.
CREATE TABLE ready_run (
    host_key bigint NOT NULL,
    priority_rank smallint NOT NULL,
    -- Does not change when a claim takes the first tasks, so that no index is written then.
    last_task_id uuid NOT NULL,
    attempt smallint NOT NULL,
    -- When the first attempt began; NULL before.
    began_at timestamptz,
    session_id uuid NOT NULL,
    -- In order.
    task_ids uuid[] NOT NULL,
    -- Serves the claim. The queue of each session at each host is a flow: a claim takes so many
    -- tasks from the head of each.
    PRIMARY KEY (host_key, session_id, priority_rank, last_task_id),
    CONSTRAINT ready_run_check CHECK (task_ids[cardinality(task_ids)] = last_task_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- In line, where a claim cuts it.
ALTER TABLE ready_run ALTER task_ids SET STORAGE MAIN;

-- Tasks that are being transferred, as claims have begun them: a row has attempts of which nothing
-- differs but the fence and the last seven bits of the task's identifier. One that is more than
-- begun and ended, because it has progressed or another worker has taken it over, is taken out and
-- has a row in attempt.
CREATE TABLE attempt_run (
    -- Those of the others follow. Their high bits are the worker's incarnation.
    first_fence bigint PRIMARY KEY,
    session_id uuid NOT NULL,
    host_key bigint NOT NULL,
    number smallint NOT NULL CHECK (number > 0),
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the first attempt began.
    began_at timestamptz NOT NULL,
    -- What the identifiers have in common, and zero in the place of the last seven bits.
    block bytea NOT NULL CHECK (octet_length(block) = 16),
    -- In order.
    task_ids uuid[] NOT NULL CHECK (cardinality(task_ids) <= 128),
    -- A bit for each attempt that is no longer here, and for each that never was: with all of them
    -- the row is removed. It is all of a row that ever changes, and is in no index.
    gone bit(128) NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- In line and as it is, where one element is read without the others.
ALTER TABLE attempt_run ALTER task_ids SET STORAGE PLAIN;

-- Serves the look for the attempt of a task.
CREATE INDEX attempt_run_by_session ON attempt_run (session_id, block);

-- A task that is being transferred and that no row of attempt_run has. What it has received and
-- sent is written once a second, on rows that moved.
CREATE TABLE attempt (
    task_id uuid PRIMARY KEY,
    fence bigint NOT NULL,
    worker integer NOT NULL,
    number smallint NOT NULL CHECK (number > 0),
    session_id uuid NOT NULL,
    host_key bigint NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes_received bigint NOT NULL DEFAULT 0,
    bytes_expected bigint,
    -- When the first attempt began.
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Set once the origin has agreed to send only the rest; with it goes the event.
    resumed_at_offset bigint CHECK (resumed_at_offset > 0),
    bytes_sent bigint NOT NULL DEFAULT 0,
    bytes_to_send bigint,
    -- The rate of the last seconds, as its worker measured it.
    bytes_per_second bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- Serves the rescue of a dead worker's attempts.
CREATE INDEX attempt_by_worker ON attempt (worker);

-- Every attempt that is under way, by itself. What is asked of one worker names first_fence too, by
-- which its runs lie together.
CREATE VIEW running_attempt AS
SELECT fence AS first_fence, task_id, fence, worker, number, session_id, host_key, started_at, began_at, bytes_received,
    bytes_expected, resumed_at_offset, bytes_sent, bytes_to_send, bytes_per_second
FROM attempt
UNION ALL
SELECT r.first_fence, k.task_id, r.first_fence + k.place - 1, (r.first_fence >> 40)::integer,
    r.number, r.session_id, r.host_key, r.started_at, r.began_at, 0, NULL, NULL, 0, NULL, 0
FROM attempt_run r CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (task_id, place)
WHERE get_bit(r.gone, k.place::integer - 1) = 0;

-- An attempt that its worker must abandon, because its task was cancelled or suspended. That worker
-- removes the row when the attempt has ended. The table is mostly empty; each worker reads it
-- several times a second.
CREATE TABLE revocation (
    worker integer NOT NULL,
    fence bigint NOT NULL,
    task_id uuid NOT NULL,
    -- Serves the removal of those whose attempts have ended.
    PRIMARY KEY (fence)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the worker's look for its own.
CREATE INDEX revocation_by_worker ON revocation (worker);

-- Serves the question whether a task that is erased, expires or is removed has one.
CREATE INDEX revocation_by_task ON revocation (task_id);

-- The point of no return between transfer and outcome: the part files of these fences are whole and
-- durable, and they and no others become the results. Whoever finds the row renames and completes.
-- It has the pending renames that one transaction began for attempts of one run whose fences follow
-- each other; an attempt that had a row of its own has one here too.
CREATE TABLE rename_run (
    -- Those of the others follow, as in attempt_run.
    first_fence bigint PRIMARY KEY,
    session_id uuid NOT NULL,
    -- As in attempt_run.
    block bytea NOT NULL CHECK (octet_length(block) = 16),
    number smallint NOT NULL,
    -- Carried over from the attempts for their outcomes.
    started_at timestamptz NOT NULL,
    resumed_at_offset bigint,
    -- What differs, an element for each pending rename, in the order of the fences.
    task_ids uuid[] NOT NULL CHECK (cardinality(task_ids) BETWEEN 1 AND 32),
    part_fences bigint[] NOT NULL,
    http_statuses smallint[] NOT NULL,
    bytes_received bigint[] NOT NULL,
    -- As in outcome.
    response_heads text[] NOT NULL,
    -- The identity of each part file, by which it is recognized under its destination when its
    -- rename is repeated: another task's file there may have the same size. An inode number is used
    -- again once its file is gone, so its creation time is kept too.
    inodes bigint[] NOT NULL,
    inodes_born_at_ns bigint[] NOT NULL,
    -- A bit for each rename that is no longer here, and for each that never was, as in attempt_run.
    gone bit(32) NOT NULL,
    CONSTRAINT rename_run_columns_are_whole CHECK (
        cardinality(part_fences) = cardinality(task_ids)
            AND cardinality(http_statuses) = cardinality(task_ids)
            AND cardinality(bytes_received) = cardinality(task_ids)
            AND cardinality(response_heads) = cardinality(task_ids)
            AND cardinality(inodes) = cardinality(task_ids)
            AND cardinality(inodes_born_at_ns) = cardinality(task_ids)),
    CONSTRAINT rename_run_inodes_are_whole CHECK (
        array_position(inodes, NULL) IS NULL AND array_position(inodes_born_at_ns, NULL) IS NULL)
) WITH (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 8160);

-- Serves the look for the pending rename of a task.
CREATE INDEX rename_run_by_session ON rename_run (session_id, block);

-- Every pending rename by itself, as running_attempt has attempts.
CREATE VIEW pending_rename AS
SELECT r.first_fence, k.task_id, r.first_fence + k.place - 1 AS fence, k.part_fence, (r.first_fence >> 40)::integer AS worker,
    r.number, r.session_id, k.http_status, k.bytes_received, k.response_head, r.started_at,
    r.resumed_at_offset, k.inode, k.inode_born_at_ns
FROM rename_run r CROSS JOIN LATERAL unnest(
    r.task_ids, r.part_fences, r.http_statuses, r.bytes_received, r.response_heads, r.inodes,
    r.inodes_born_at_ns
) WITH ORDINALITY AS k (
    task_id, part_fence, http_status, bytes_received, response_head, inode, inode_born_at_ns, place)
WHERE get_bit(r.gone, k.place::integer - 1) = 0;

-- The end of a task, until its client retries it; the primary key makes a second end impossible.
CREATE TABLE outcome (
    task_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    generation bigint NOT NULL,
    state task_state NOT NULL CHECK (state IN ('completed', 'failed', 'cancelled')),
    attempt smallint NOT NULL,
    bytes_received bigint NOT NULL,
    http_status smallint,
    -- The fields of the response that are kept, one a line, and what else is known of it. No
    -- statement looks into it. NULL of a task that is not completed.
    response_head text,
    failure jsonb,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes_sent bigint NOT NULL DEFAULT 0,
    -- What the origin answered: to an upload at most 64 KiB, to a data task at most 256 KiB.
    response_body bytea CHECK (octet_length(response_body) <= 262144),
    -- The part file that is the result of a download without a destination. Its name holds the
    -- fence, so that no other attempt's file can take its place, and it needs no other name. NULL
    -- for other results.
    part_fence bigint,
    -- The attempt that ended the task; NULL where none did.
    fence bigint,
    started_at timestamptz,
    resumed_at_offset bigint,
    -- What was measured of that attempt, as one text that no statement looks into; NULL where
    -- nothing was.
    measurements text,
    -- When `transferd verify` found that the file of a completed download is no longer there:
    -- somebody has removed it beneath the service. NULL while nobody has found that.
    result_gone_at timestamptz,
    CONSTRAINT outcome_check CHECK ((state = 'completed') = (response_head IS NOT NULL)),
    CONSTRAINT outcome_attempt_check CHECK ((fence IS NULL) = (started_at IS NULL)),
    -- A cancelled task may have a cause that is not its client's wish.
    CONSTRAINT outcome_failure_check CHECK (
        CASE state WHEN 'failed' THEN failure IS NOT NULL WHEN 'completed' THEN failure IS NULL
            ELSE true END)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Serves the pages of a session's failed or cancelled tasks. Most tasks complete, and among all are
-- found soon.
CREATE INDEX outcome_by_state ON outcome (session_id, state, task_id) WHERE state <> 'completed';

-- Serves the failed tasks that the end of a generation names: those of that generation alone, from
-- its first. Written as no look-up of a state is, so that no plan takes one index for the other.
CREATE INDEX outcome_failed ON outcome (session_id, generation, task_id)
    WHERE (state = 'failed') IS TRUE;

-- A session that has ended, or whose client was force-quit, until nothing of it is outstanding. Its
-- tasks are cancelled page by page, in their order, by whichever instance.
CREATE TABLE cancellation (
    session_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    -- The last task looked at; the next page starts behind it.
    cancelled_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);

-- Serves the look for the sessions of each tenant in turn.
CREATE INDEX cancellation_by_tenant ON cancellation (tenant_id, session_id);

-- One verb for the tasks of a session that are in certain states, until a day after its end. It is
-- carried out page by page, in the order of the tasks, by whichever instance.
CREATE TABLE bulk_operation (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    session_id uuid NOT NULL,
    verb text NOT NULL CHECK (verb IN ('resume', 'suspend', 'cancel', 'retry')),
    states text[] NOT NULL,
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'completed', 'stopped')),
    -- Why it was stopped, or what it waits for.
    reason text,
    -- The tasks in those states when it was requested.
    matching bigint NOT NULL,
    -- The tasks changed so far.
    changed bigint NOT NULL DEFAULT 0,
    -- The last task looked at; the next page starts behind it.
    looked_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    -- Later tasks, and later ends of tasks, are none of its business.
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    CONSTRAINT bulk_operation_check CHECK ((state = 'running') = (finished_at IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the list of a session's operations, and the look for one that comes first.
CREATE INDEX bulk_operation_by_session ON bulk_operation (session_id, id);

-- Serves the count of a tenant's operations, of which it may have so many.
CREATE INDEX bulk_operation_by_tenant ON bulk_operation (tenant_id);

-- Serves the look for those of each tenant that have not ended.
CREATE INDEX bulk_operation_running ON bulk_operation (tenant_id, id) WHERE finished_at IS NULL;

-- Serves the removal of those that ended long ago.
CREATE INDEX bulk_operation_finished ON bulk_operation (finished_at) WHERE finished_at IS NOT NULL;

-- Who has taken a task over when its client reconnected. A task that was never reconnected has no
-- row, and a row goes with its task.
CREATE TABLE task_owner (
    task_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    -- Of one reconnection, and known to its client alone.
    lease_token uuid NOT NULL,
    -- The name that the client has given itself, for people.
    owner text CHECK (octet_length(owner) BETWEEN 1 AND 255),
    -- NULL: the task is not given out again.
    expires_at timestamptz,
    -- The client that took it over.
    client_id uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Serves the end of a client, whose leases are given back.
CREATE INDEX task_owner_by_client ON task_owner (client_id) WHERE expires_at IS NOT NULL;

-- Serves the renewal and the release of a lease.
CREATE INDEX task_owner_by_lease ON task_owner (lease_token);

-- The failure with which a test of a client wants the next attempt of a task to end. That attempt
-- takes the row, which otherwise goes with its task. Only tasks of tenants for tests have any.
CREATE TABLE test_failure (
    task_id uuid PRIMARY KEY,
    code text NOT NULL,
    http_status smallint,
    CONSTRAINT test_failure_check CHECK ((code = 'http_status') = (http_status IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
