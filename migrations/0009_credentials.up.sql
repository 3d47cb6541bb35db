-- What tasks show to origins that want to know who asks. Secrets are sealed with a key that the
-- database does not have.
CREATE TABLE credential (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES tenant (id),
    -- NULL for what a client gave in answer to one challenge.
    name text CHECK (octet_length(name) BETWEEN 1 AND 64),
    kind text NOT NULL CHECK (
        kind IN ('bearer', 'basic', 'header', 'oauth2_refresh_token')),
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
    access_token bytea,
    access_expires_at timestamptz,
    -- Until when one instance refreshes, and all others wait.
    refreshing_until timestamptz,
    -- What the token endpoint last said against it.
    failure text CHECK (octet_length(failure) <= 255)
);

-- One credential per name; serves look-up and listing.
CREATE UNIQUE INDEX credential_by_name ON credential (tenant_id, name COLLATE "C")
    WHERE name IS NOT NULL;

-- What a client has answered to a challenge: the session's tasks use it for that origin.
CREATE TABLE session_credential (
    session_id uuid NOT NULL,
    origin text NOT NULL,
    credential_id uuid NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (session_id, origin)
);

-- Read with every claim, so that tasks of other sessions are not looked up.
ALTER TABLE session ADD COLUMN has_credentials boolean NOT NULL DEFAULT false;

-- The named credential that was refused, and when the refused attempt began: a change since then
-- is the answer.
ALTER TABLE asked ADD COLUMN credential text;
ALTER TABLE asked ADD COLUMN attempted_at timestamptz;

-- Serves a change of the credential that tasks wait for.
CREATE INDEX asked_by_credential ON asked (credential) WHERE credential IS NOT NULL;
