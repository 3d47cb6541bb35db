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

-- The events that are there already are added like new ones, those that are kept no longer never.
INSERT INTO feed_session (session_id, first_sequence, last_sequence)
SELECT p.session_id, 1, coalesce(r.first_sequence - 1, p.last_sequence)
FROM session_progress p
LEFT JOIN LATERAL (
    SELECT x.first_sequence FROM event_run x WHERE x.session_id = p.session_id
    ORDER BY x.last_sequence LIMIT 1
) r ON true;

INSERT INTO task_move (tenant_id, session_id, tasks, bytes_received, bytes_sent)
SELECT coalesce(s.tenant_id, c.tenant_id, t.id), p.session_id, 1, 0, 0
FROM session_progress p
LEFT JOIN session s ON s.id = p.session_id
LEFT JOIN client c ON c.id = p.session_id
LEFT JOIN tenant t ON t.id = p.session_id
WHERE num_nonnulls(s.id, c.id, t.id) > 0;
