-- Tenancy: who uses the service, with which keys, apps and credentials, within which bounds.

-- A tenant is isolated from all others: every row of every table belongs to one tenant, directly or
-- through its session. Hosts, workers and shards belong to the service.
CREATE TABLE tenant (
    id uuid PRIMARY KEY,
    -- Serves the creation of keys and the change of limits, which name the tenant.
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Certificates in PEM that all tasks of the tenant trust besides the system's.
    certificate_authorities bytea
        CHECK (octet_length(certificate_authorities) BETWEEN 1 AND 65536),
    -- The most bytes in a second of all its running tasks together; NULL for any number.
    total_bytes_per_second_max bigint CHECK (total_bytes_per_second_max > 0),
    -- The most tasks that may be outstanding; NULL for any number.
    outstanding_tasks_max bigint CHECK (outstanding_tasks_max > 0),
    -- The most tasks that may be running; NULL for any number.
    running_tasks_max integer CHECK (running_tasks_max > 0),
    -- The most requests in a second to each instance; NULL for any number.
    requests_per_second_max integer CHECK (requests_per_second_max > 0),
    -- The time that the assertions of a client have together after it has entered the background.
    assertion_budget_ms bigint NOT NULL DEFAULT 30000
        CHECK (assertion_budget_ms BETWEEN 5000 AND 600000),
    -- The background tasks that its clients may register: identifiers, and beginnings followed by
    -- an asterisk.
    permitted_background_tasks text[] NOT NULL DEFAULT '{}'
        CHECK (cardinality(permitted_background_tasks) <= 100),
    are_background_tasks_on boolean NOT NULL DEFAULT true,
    -- The time that a run has, unless its client extends it.
    app_refresh_time_ms bigint NOT NULL DEFAULT 30000
        CHECK (app_refresh_time_ms BETWEEN 5000 AND 600000),
    processing_time_ms bigint NOT NULL DEFAULT 600000
        CHECK (processing_time_ms BETWEEN 5000 AND 21600000),
    -- An operator's word whether there is room for work that can wait.
    capacity text NOT NULL DEFAULT 'idle' CHECK (capacity IN ('idle', 'busy')),
    -- The number of changes of what it says about background tasks, for conditional changes: each
    -- compares and increases it in its own statement.
    background_revision integer NOT NULL DEFAULT 0,
    -- The most bytes of results and of bodies brought for uploads; NULL for any number.
    stored_bytes_max bigint CHECK (stored_bytes_max > 0),
    -- The most bytes that its running tasks have to move; NULL for any number.
    in_flight_bytes_max bigint CHECK (in_flight_bytes_max > 0),
    -- Where its requests may go, within what the service allows; NULL for all of that.
    egress_rules jsonb CHECK (octet_length(egress_rules::text) <= 65536),
    -- When an operator decided to remove it with all that it owns; it has no good key from then on,
    -- and gave up its name. NULL for all others.
    removed_at timestamptz,
    -- Whether its keys may use the hooks for tests; said when it is made, and never changed.
    is_for_tests boolean NOT NULL DEFAULT false
);

-- Serves every instance, which reads all rules every few seconds.
CREATE INDEX tenant_with_egress_rules ON tenant (id) WHERE egress_rules IS NOT NULL;

-- Serves every worker, which looks for such tenants every few seconds.
CREATE INDEX tenant_removed ON tenant (id) WHERE removed_at IS NOT NULL;

-- A key is looked up by its public id. Only a digest of its secret is kept.
CREATE TABLE api_key (
    id text COLLATE "C" PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    secret_sha256 bytea NOT NULL CHECK (octet_length(secret_sha256) = 32),
    name text NOT NULL,
    -- What it may be used for.
    scopes text[] NOT NULL CHECK (
        cardinality(scopes) > 0
        AND scopes <@ ARRAY['read', 'submit', 'control', 'webhooks', 'admin']),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When it was last used, to about a minute; NULL for never.
    last_used_at timestamptz,
    -- From when on it is refused; NULL for never.
    expires_at timestamptz,
    revoked_at timestamptz,
    -- The most requests with this key in a second to each instance; NULL for any number.
    requests_per_second_max integer CHECK (requests_per_second_max > 0)
);

-- Serves listing, the count of a tenant's keys, and the removal of those that ended long ago.
CREATE INDEX api_key_by_tenant ON api_key (tenant_id, id);

-- An app of a tenant, or an extension of one, and where it is in its life. A tenant is made
-- together with its client `default`, which goes with it alone.
CREATE TABLE client (
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    identifier text COLLATE "C" NOT NULL CHECK (octet_length(identifier) BETWEEN 1 AND 64),
    kind text NOT NULL CHECK (kind IN ('app', 'extension')),
    lifecycle text NOT NULL DEFAULT 'active' CHECK (lifecycle IN (
        'active', 'background', 'suspended', 'terminated', 'force_quit')),
    lifecycle_changed_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Names the log of the client's own events, and the client in what belongs to it. Its row lock
    -- orders all changes of its life and of its background tasks.
    id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    -- Of a client in the background: from when on it is suspended unless it holds an assertion, and
    -- when the time of its assertions is over.
    grace_ends_at timestamptz,
    assertions_end_at timestamptz,
    -- When somebody decided to remove it with all that it owns, and it was force-quit; NULL for all
    -- others. Its name is free again once the row is gone.
    removed_at timestamptz,
    -- Serves look-up, listing, and the creation of sessions.
    PRIMARY KEY (tenant_id, identifier),
    CONSTRAINT client_check CHECK ((lifecycle = 'background') = (grace_ends_at IS NOT NULL)),
    CONSTRAINT client_check1 CHECK ((lifecycle = 'background') = (assertions_end_at IS NOT NULL))
);

-- Serves every worker, which looks for such clients every few seconds.
CREATE INDEX client_removed ON client (id) WHERE removed_at IS NOT NULL;

-- Serves the claim of deliveries, which asks whether there is any at all.
CREATE INDEX client_force_quit ON client (tenant_id) WHERE lifecycle = 'force_quit';

-- A credential is what tasks show to origins that want to know who asks. Its secrets are sealed
-- with a key that the database does not have.
CREATE TABLE credential (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    -- NULL for what a client gave in answer to one challenge.
    name text CHECK (octet_length(name) BETWEEN 1 AND 64),
    -- A client certificate comes with its private key, and is shown in the TLS handshake.
    kind text NOT NULL CHECK (kind IN (
        'bearer', 'basic', 'header', 'oauth2_refresh_token', 'client_certificate')),
    -- What is no secret: user name, field name, token endpoint.
    form jsonb NOT NULL,
    -- Where it may be sent; empty for anywhere.
    origins text[] NOT NULL,
    secret bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When its client gave it this secret.
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Counts every change, so that of two refreshes of one token only one is kept.
    version bigint NOT NULL DEFAULT 1,
    -- What the token endpoint gave for the refresh token, and until when it holds.
    access_token bytea,
    access_expires_at timestamptz,
    -- Until when one instance refreshes, and all others wait.
    refreshing_until timestamptz,
    -- What the token endpoint last said against it.
    failure text CHECK (octet_length(failure) <= 255)
);

-- A name has one credential. Serves look-up and listing.
CREATE UNIQUE INDEX credential_by_name ON credential (tenant_id, name COLLATE "C")
    WHERE name IS NOT NULL;

-- The answer to a request that its client may repeat. All rows are replaced each day, so that few
-- dead ones call for a vacuum.
CREATE TABLE idempotency_key (
    tenant_id uuid NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    -- Tells a repetition from another request with the same key.
    request_sha256 bytea NOT NULL CHECK (octet_length(request_sha256) = 32),
    status smallint NOT NULL,
    location text,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Serves the removal of old keys.
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);
