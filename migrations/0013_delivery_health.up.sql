-- Hot plane: a subscription to which nothing gets through. The first message that does removes the
-- row, so that a healthy subscription has none and costs nothing.
CREATE TABLE failure_streak (
    subscription_id uuid PRIMARY KEY,
    failing_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures integer NOT NULL,
    -- Nothing is sent before: its receiver asked for that, or too much has failed in a row.
    paused_until timestamptz
) WITH (fillfactor = 50);

-- Log plane: a message that was not taken at its first try, or was replayed. What is taken at once
-- leaves no row.
CREATE TABLE delivery_log (
    id uuid PRIMARY KEY,
    subscription_id uuid NOT NULL,
    session_id uuid NOT NULL,
    sequence bigint NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead')),
    -- Dead is a message that was given up; it stays known after a replay that was taken.
    died_at timestamptz,
    -- When it is to be sent once more; the end of the lease while that is being done.
    replay_due_at timestamptz,
    replay_fence bigint,
    -- Serves the record of another try of the message.
    UNIQUE (subscription_id, session_id, sequence),
    CHECK (state <> 'dead' OR died_at IS NOT NULL)
);

-- Serves the pages of GET /v1/subscriptions/{id}/deliveries.
CREATE INDEX delivery_log_by_subscription ON delivery_log (subscription_id, id);

-- Serves the claim of replays.
CREATE INDEX delivery_log_replay_due ON delivery_log (replay_due_at)
    WHERE replay_due_at IS NOT NULL;

-- Each try of a message in delivery_log.
CREATE TABLE delivery_attempt (
    delivery_id uuid NOT NULL,
    -- Serves the list of a delivery's attempts.
    number integer NOT NULL,
    is_replay boolean NOT NULL,
    attempted_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    status smallint,
    -- NULL when the message was taken.
    reason text,
    -- The begin of what was answered, made harmless.
    answer text CHECK (octet_length(answer) <= 4096),
    PRIMARY KEY (delivery_id, number)
);

-- What an event says that is about no task. Events of no session belong to their tenant: their
-- session_id, and that of their counters and deliveries, is the tenant's.
ALTER TABLE event ADD COLUMN details jsonb;
