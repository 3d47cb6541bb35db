-- Counts: the number of tasks in each state, known without counting them.
--
-- Each statement that moves tasks adds a row that says from where to where, and these are folded
-- into the counts. What somebody reads is the counts and the rows that are not folded yet, so it is
-- exact at any moment.

-- Moves that are not folded yet.
CREATE TABLE task_move (
    tenant_id uuid NOT NULL,
    session_id uuid NOT NULL,
    -- NULL for tasks that are new.
    from_state task_state,
    -- NULL for tasks that are kept no longer.
    to_state task_state,
    tasks bigint NOT NULL CHECK (tasks > 0),
    -- Of ended tasks, as their outcomes have them.
    bytes_received bigint NOT NULL,
    bytes_sent bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- Serves whoever reads the counts of a session or a tenant, and the fold.
CREATE INDEX task_move_by_session ON task_move (tenant_id, session_id);

-- The tasks of a session in each state.
CREATE TABLE session_task_count (
    session_id uuid NOT NULL,
    state task_state NOT NULL,
    tasks bigint NOT NULL,
    bytes_received bigint NOT NULL,
    bytes_sent bigint NOT NULL,
    PRIMARY KEY (session_id, state)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The tasks of a tenant in each state. A few rows, each updated by every fold, so that a number of
-- dead ones calls for a vacuum and not a share.
CREATE TABLE tenant_task_count (
    tenant_id uuid NOT NULL,
    state task_state NOT NULL,
    tasks bigint NOT NULL,
    bytes_received bigint NOT NULL,
    bytes_sent bigint NOT NULL,
    PRIMARY KEY (tenant_id, state)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- The tasks of all tenants in each state; a few rows as those of a tenant are. Serves the bound of
-- the queue.
CREATE TABLE task_count (
    state task_state PRIMARY KEY,
    tasks bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- Tasks that are there already, as after this plane alone was taken back, are counted once, in the
-- states of docs/states.md.
INSERT INTO task_move (
    tenant_id, session_id, to_state, tasks, bytes_received, bytes_sent)
SELECT s.tenant_id, p.session_id, p.state, count(*), sum(p.bytes_received), sum(p.bytes_sent)
FROM (
    SELECT session_id, state, bytes_received, bytes_sent FROM outcome
    UNION ALL SELECT session_id, 'running', 0, 0 FROM running_attempt
    UNION ALL SELECT session_id, 'running', 0, 0 FROM pending_rename
    UNION ALL SELECT session_id, 'queued', 0, 0 FROM ready_run, unnest(task_ids)
    UNION ALL SELECT t.session_id, 'suspended', 0, 0 FROM held h JOIN task t ON t.id = h.task_id
    UNION ALL SELECT session_id, CASE question
            WHEN 'begin' THEN 'waiting_to_begin'::task_state
            ELSE 'waiting_for_authentication' END, 0, 0
        FROM asked
    UNION ALL SELECT session_id, CASE
            WHEN awaits_host THEN 'waiting_for_connectivity'::task_state
            WHEN failure IS NOT NULL THEN 'waiting_for_retry'
            ELSE 'scheduled' END, 0, 0
        FROM delayed
) p JOIN session s ON s.id = p.session_id
GROUP BY s.tenant_id, p.session_id, p.state;
