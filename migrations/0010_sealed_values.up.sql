-- Sealed values: what is secret in a row is sealed with a key that the database does not have.

-- The keys that may have sealed something here, by the start of their digests. An instance that
-- lacks one of them does not start: it could not read what its tasks need.
CREATE TABLE secrets_key (
    name bytea PRIMARY KEY CHECK (octet_length(name) = 4),
    first_used_at timestamptz NOT NULL DEFAULT now(),
    -- When a running instance has said last that it seals with this key.
    used_at timestamptz NOT NULL DEFAULT now()
);
