-- Deliveries: where tenants want events sent, and how far each delivery has got.

-- A subscription, with what its owner may change at any time. Only messages that are sent
-- afterwards differ.
CREATE TABLE subscription (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    -- NULL: all sessions of the client, or of the whole tenant.
    session_identifier text,
    url text NOT NULL,
    -- Kinds of events, and families of them such as 'task.*'. NULL: every kind.
    event_types text[],
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The row stays until what was logged of its deliveries is removed, and goes with that.
    deleted_at timestamptz,
    description text CHECK (octet_length(description) <= 1000),
    -- Sent with every message; their values are secrets.
    headers jsonb NOT NULL DEFAULT '[]',
    -- Sessions delivered at once and messages a second, by each instance; NULL: the service's
    -- bound.
    concurrency smallint CHECK (concurrency BETWEEN 1 AND 16),
    rate_limit smallint CHECK (rate_limit BETWEEN 1 AND 1000),
    -- Nothing is sent while it is disabled; its events wait, and follow in order once it is
    -- enabled.
    disabled_at timestamptz,
    disabled_reason text CHECK (disabled_reason IN ('client', 'gone', 'failing')),
    -- Makes the tokens by which a subscriber says, after its answer, that it has done what
    -- session.events_finished asked for. A token needs no row: it follows from the key and the
    -- event.
    ack_key bytea NOT NULL DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        CHECK (octet_length(ack_key) = 32),
    -- How long that may take; then the message is sent again.
    ack_timeout_ms bigint NOT NULL DEFAULT 600000
        CHECK (ack_timeout_ms BETWEEN 1000 AND 86400000),
    -- What a message holds: one event, or the next events of a session together.
    delivery_form text NOT NULL DEFAULT 'single' CHECK (delivery_form IN ('single', 'batch')),
    -- Whether session.events_finished is sent less often the more often it was sent lately.
    wake_up_throttling boolean NOT NULL DEFAULT false,
    -- NULL: the sessions of all clients. A subscription to one session names both.
    client text COLLATE "C",
    -- Says again what `deleted_at` says, so that the look-ups of who wants an event can use their
    -- own index alone: a plan made while the table was almost empty takes
    -- subscription_living, and reads all of a tenant's.
    is_living boolean NOT NULL GENERATED ALWAYS AS (deleted_at IS NULL) STORED,
    -- The number of changes by its client, for conditional changes: each compares and increases it
    -- in its own statement.
    revision integer NOT NULL DEFAULT 0,
    CONSTRAINT subscription_check CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
    CONSTRAINT subscription_check1 CHECK (session_identifier IS NULL OR client IS NOT NULL)
);

-- Serves the list and the count of a tenant's subscriptions.
CREATE INDEX subscription_living ON subscription (tenant_id, id) WHERE deleted_at IS NULL;

-- Serves the look-ups of who wants an event, in the transaction that writes it: the subscriptions
-- of the whole tenant, of the client, and of the session.
CREATE INDEX subscription_by_scope
    ON subscription (tenant_id, client, session_identifier COLLATE "C", id) WHERE is_living;

-- Who wants the events of logs, for the statement that writes them; each log comes with the number
-- of its last event before. Such a statement may have begun long before it got the locks on the
-- logs' counters, and would not find a subscription that was made meanwhile. This function is
-- volatile, so that it sees what was committed when it is called, under these locks: whoever has an
-- answer to the request for a subscription gets every later event.
CREATE FUNCTION subscriptions_to(logs uuid[], bases bigint[])
RETURNS TABLE (log uuid, base bigint, id uuid, event_types text[])
LANGUAGE plpgsql VOLATILE ROWS 2 AS $$
BEGIN
    RETURN QUERY
        SELECT x.log, x.base, b.id, b.event_types
        FROM unnest(logs, bases) AS x (log, base)
        -- A session's log, a client's or a tenant's. What follows the first that is found is not
        -- looked up.
        CROSS JOIN LATERAL (
            SELECT s.tenant_id, s.client, s.identifier FROM session s WHERE s.id = x.log
            UNION ALL
            SELECT c.tenant_id, c.identifier, NULL FROM client c WHERE c.id = x.log
            UNION ALL
            SELECT t.id, NULL, NULL FROM tenant t WHERE t.id = x.log
            LIMIT 1
        ) o
        -- Three look-ups, however many subscriptions the tenant has for other sessions.
        CROSS JOIN LATERAL (
            SELECT y.id, y.event_types FROM subscription y
            WHERE y.is_living AND y.tenant_id = o.tenant_id AND y.client IS NULL
                AND y.session_identifier IS NULL
            UNION ALL
            SELECT y.id, y.event_types FROM subscription y
            WHERE y.is_living AND y.tenant_id = o.tenant_id AND y.client = o.client COLLATE "C"
                AND y.session_identifier IS NULL
            UNION ALL
            SELECT y.id, y.event_types FROM subscription y
            WHERE y.is_living AND y.tenant_id = o.tenant_id AND y.client = o.client COLLATE "C"
                AND y.session_identifier = o.identifier COLLATE "C"
        ) b;
END
$$;

-- Serves the removal of subscriptions that were deleted long ago.
CREATE INDEX subscription_deleted ON subscription (deleted_at) WHERE deleted_at IS NOT NULL;

-- Serves the removal of tenants, which ends these before their time.
CREATE INDEX subscription_deleted_of_tenant
    ON subscription (tenant_id, deleted_at) WHERE deleted_at IS NOT NULL;

-- The keys that sign. A message is signed with all that have not expired, so that a receiver can
-- change over from one to the next whenever it likes.
CREATE TABLE signing_secret (
    subscription_id uuid NOT NULL REFERENCES subscription (id),
    number integer NOT NULL CHECK (number > 0),
    -- Sealed, so that it is longer than the client knows it.
    secret bytea NOT NULL CHECK (octet_length(secret) BETWEEN 24 AND 128),
    -- NULL for the newest, which has no end yet.
    expires_at timestamptz,
    -- Serves the claim of deliveries, which reads a subscription's keys.
    PRIMARY KEY (subscription_id, number)
);

-- Two rotations at once leave one newest key.
CREATE UNIQUE INDEX signing_secret_newest ON signing_secret (subscription_id)
    WHERE expires_at IS NULL;

-- How far a subscription is in the events of a session. One row for a pair that ever had an event,
-- not for each event.
CREATE TABLE delivery (
    subscription_id uuid NOT NULL,
    session_id uuid NOT NULL,
    acknowledged_sequence bigint NOT NULL,
    -- NULL while nothing is left to deliver.
    due_at timestamptz,
    -- Set while an instance delivers; its updates name it, so that a stale instance writes nothing.
    fence bigint,
    worker integer,
    -- Tries of the message that was tried last.
    attempt smallint NOT NULL DEFAULT 0,
    last_status smallint,
    last_error text,
    attempted_at timestamptz,
    -- The last event of the message that was tried last and is tried again, and its `webhook-id` if
    -- it is a batch: so it holds the same events although others have come meanwhile, and tries do
    -- not count for another message that a changed subscription asks for. NULL while the next
    -- message is tried for the first time.
    tried_sequence bigint,
    tried_batch uuid,
    -- In the log of a client: the event after which the subscription has asked for every
    -- background_task.launch that the cursor has passed.
    launches_after bigint,
    PRIMARY KEY (subscription_id, session_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the claim of due deliveries: idle pairs are not in it.
CREATE INDEX delivery_due ON delivery (due_at) WHERE due_at IS NOT NULL;

-- Serves the release of a dead worker's deliveries.
CREATE INDEX delivery_by_worker ON delivery (worker) WHERE worker IS NOT NULL;

-- A subscription to which nothing gets through. The first message that does removes the row, so
-- that a healthy subscription has none and costs nothing.
CREATE TABLE failure_streak (
    subscription_id uuid PRIMARY KEY,
    failing_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures integer NOT NULL,
    -- Nothing is sent before: its receiver asked for that, or too much has failed in a row.
    paused_until timestamptz,
    -- The claim of the delivery that was the last to probe whether the receiver is back: the pause
    -- that began with it is not for it.
    probe_fence bigint,
    -- When the last of the deliveries returns that wait for the end of the pause.
    returns_through timestamptz
) WITH (fillfactor = 50);

-- A subscription whose waiting deliveries are to be due: its receiver is back, or its client has
-- changed it. They are examined in pages, and the row goes with the last.
CREATE TABLE delivery_restart (
    subscription_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    -- What was tried since keeps the wait that this try has set.
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Whether messages that wait for their acknowledgement are sent again too.
    includes_awaited boolean NOT NULL,
    -- The last session that was examined.
    restarted_through uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);

-- Serves the look for the subscriptions of each tenant in turn.
CREATE INDEX delivery_restart_by_tenant ON delivery_restart (tenant_id, subscription_id);

-- A message that was not taken at its first try, or was replayed. What is taken at once leaves no
-- row.
CREATE TABLE delivery_log (
    id uuid PRIMARY KEY,
    subscription_id uuid NOT NULL,
    session_id uuid NOT NULL,
    -- The event of the message, the last one of a batch.
    sequence bigint NOT NULL,
    -- Dead is a message that was given up. Expired are events that were kept no longer when they
    -- were to be delivered.
    state text NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead', 'expired')),
    -- Kept also after a replay that was taken.
    died_at timestamptz,
    -- When it is to be sent once more; the end of the lease while that is being done.
    replay_due_at timestamptz,
    replay_fence bigint,
    -- The message of a batch: its identifier, its first event and how many it holds. Expired events
    -- have a first one too, but never were a message, so that there is no `batch_id`.
    batch_id uuid,
    batch_first bigint,
    event_count integer NOT NULL DEFAULT 1 CHECK (event_count > 0),
    -- Serves the record of another try of the message.
    UNIQUE (subscription_id, session_id, sequence),
    CONSTRAINT delivery_log_check CHECK (state NOT IN ('dead', 'expired') OR died_at IS NOT NULL),
    CONSTRAINT delivery_log_check1 CHECK (batch_first BETWEEN 1 AND sequence),
    CONSTRAINT delivery_log_check2
        CHECK ((batch_id IS NULL AND state <> 'expired') = (batch_first IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Serves the pages of a subscription's logged deliveries.
CREATE INDEX delivery_log_by_subscription ON delivery_log (subscription_id, id);

-- Serves the look for due replays.
CREATE INDEX delivery_log_replay_due ON delivery_log (replay_due_at)
    WHERE replay_due_at IS NOT NULL;

-- Serves the pages of logged deliveries in one state, and the dead that are to be sent again. No
-- other index has the first column, so that none serves the range of a page.
CREATE INDEX delivery_log_by_state ON delivery_log (state, subscription_id, id);

-- Serves the claim and the cancellation of one subscription's replays, in the order in which they
-- are sent, and the look for the next subscription that has any.
CREATE INDEX delivery_log_replay_of
    ON delivery_log (subscription_id, replay_due_at, session_id, sequence)
    WHERE replay_due_at IS NOT NULL;

-- Serves the claim of a subscription's replays, which looks whether any is claimed.
CREATE INDEX delivery_log_replaying ON delivery_log (subscription_id)
    WHERE replay_fence IS NOT NULL;

-- Each try of a message in delivery_log.
CREATE TABLE delivery_attempt (
    -- A try that is recorded while its message is removed goes with it.
    delivery_id uuid NOT NULL REFERENCES delivery_log (id) ON DELETE CASCADE,
    number integer NOT NULL,
    is_replay boolean NOT NULL,
    attempted_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    status smallint,
    -- NULL when the message was taken.
    reason text,
    -- The start of the answer, made harmless.
    answer text CHECK (octet_length(answer) <= 4096),
    -- Serves the list of a delivery's attempts.
    PRIMARY KEY (delivery_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- The last session.events_finished that was sent to a subscription that throttles them.
CREATE TABLE wake_up (
    subscription_id uuid PRIMARY KEY,
    -- The event, which is let through when it is tried again.
    event_id uuid NOT NULL,
    -- How many there were without a quiet day between two of them; makes the wait for the next.
    count integer NOT NULL CHECK (count > 0),
    sent_at timestamptz NOT NULL
) WITH (fillfactor = 50);
