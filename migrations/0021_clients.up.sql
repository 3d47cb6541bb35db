-- Truth plane: an app of a tenant, or an extension of one, and where it is in its life. Never
-- removed: `default` is there for every tenant.
CREATE TABLE client (
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    identifier text COLLATE "C" NOT NULL CHECK (octet_length(identifier) BETWEEN 1 AND 64),
    kind text NOT NULL CHECK (kind IN ('app', 'extension')),
    lifecycle text NOT NULL DEFAULT 'active' CHECK (lifecycle IN (
        'active', 'background', 'suspended', 'terminated', 'force_quit')),
    lifecycle_changed_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Serves look-up, listing, and the creation of sessions.
    PRIMARY KEY (tenant_id, identifier)
);
INSERT INTO client (tenant_id, identifier, kind) SELECT id, 'default', 'app' FROM tenant;

-- Serves the claim of deliveries, which asks whether there is any at all.
CREATE INDEX client_force_quit ON client (tenant_id) WHERE lifecycle = 'force_quit';

-- A client that was force-quit, until the last of its tasks has been cancelled.
CREATE TABLE force_quit (
    tenant_id uuid NOT NULL,
    client text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, client)
);

-- By name, so that nothing that tells of a session has to look up its client.
ALTER TABLE session ADD COLUMN client text COLLATE "C" NOT NULL DEFAULT 'default';

-- One living session per client and identifier. Serves look-up and listing.
DROP INDEX session_living_identifier;
CREATE UNIQUE INDEX session_living_identifier
    ON session (tenant_id, client, identifier COLLATE "C") WHERE invalidated_at IS NULL;

-- Serves the force-quit and the launch of a client, which concern ended sessions too.
CREATE INDEX session_by_client ON session (tenant_id, client, id);

-- Repeats the client's lifecycle where the row lock is, so that no submit slips past a force-quit.
ALTER TABLE session_progress ADD COLUMN is_force_quit boolean NOT NULL DEFAULT false;

-- NULL: the sessions of all clients. A subscription to one session names both.
ALTER TABLE subscription ADD COLUMN client text COLLATE "C";
UPDATE subscription SET client = 'default' WHERE session_identifier IS NOT NULL;
ALTER TABLE subscription ADD CHECK (session_identifier IS NULL OR client IS NOT NULL);

-- A cancelled task may have a cause that is not its client's wish.
ALTER TABLE outcome DROP CONSTRAINT outcome_check1;
ALTER TABLE outcome ADD CONSTRAINT outcome_failure_check CHECK (
    CASE state WHEN 'failed' THEN failure IS NOT NULL WHEN 'completed' THEN failure IS NULL
        ELSE true END);
