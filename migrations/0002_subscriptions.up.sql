-- Truth plane: where a tenant wants events delivered.
CREATE TABLE subscription (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    -- NULL: the sessions of the whole tenant.
    session_identifier text,
    url text NOT NULL,
    -- NULL: every kind of event.
    kinds text[],
    secret bytea NOT NULL CHECK (octet_length(secret) BETWEEN 24 AND 64),
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);

-- Serves the look-up of who wants an event, in the transaction that writes it.
CREATE INDEX subscription_living ON subscription (tenant_id, id) WHERE deleted_at IS NULL;

-- Hot plane: how far a subscription is in the events of a session. One row per pair that ever had
-- an event, not per event. `due_at` is NULL while nothing is left to deliver.
CREATE TABLE delivery (
    subscription_id uuid NOT NULL,
    session_id uuid NOT NULL,
    acknowledged_sequence bigint NOT NULL,
    due_at timestamptz,
    -- Set while an instance delivers; its updates name it, so that a stale instance writes nothing.
    fence bigint,
    worker integer,
    -- Tries of the message after `acknowledged_sequence`.
    attempt smallint NOT NULL DEFAULT 0,
    last_status smallint,
    last_error text,
    attempted_at timestamptz,
    PRIMARY KEY (subscription_id, session_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Serves the claim of due deliveries: idle pairs are not in it.
CREATE INDEX delivery_due ON delivery (due_at) WHERE due_at IS NOT NULL;

-- Serves the release of a dead worker's deliveries.
CREATE INDEX delivery_by_worker ON delivery (worker) WHERE worker IS NOT NULL;
