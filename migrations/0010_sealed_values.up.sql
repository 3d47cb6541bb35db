-- Sealed values: what is secret in a row is sealed with a key that the database does not have.

-- A sealed value is longer than its plain form.
ALTER TABLE signing_secret
    DROP CONSTRAINT signing_secret_secret_check,
    ADD CONSTRAINT signing_secret_secret_check CHECK (octet_length(secret) BETWEEN 24 AND 128);

-- Not validated, because what was allowed before is allowed still, and the table is large.
ALTER TABLE task
    DROP CONSTRAINT task_upload_data_check,
    ADD CONSTRAINT task_upload_data_check CHECK (octet_length(upload_data) <= 65664) NOT VALID;

-- The keys that may have sealed something here, by the start of their digests. An instance that lacks
-- one of them does not start: it could not read what its tasks need.
CREATE TABLE secrets_key (
    name bytea PRIMARY KEY CHECK (octet_length(name) = 4),
    first_used_at timestamptz NOT NULL DEFAULT now()
);
